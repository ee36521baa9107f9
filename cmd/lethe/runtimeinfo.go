package main

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

// printRuntimeInfo shows what the store works with, if that is more than a
// folder.
func printRuntimeInfo(w io.Writer, s api.Status) error {
	if s.LedgerKind != "postgres" && s.Redis == nil {
		return nil
	}
	line := "ledger in " + s.LedgerKind
	if s.LedgerLatency > 0 {
		line += ", answers in " + time.Duration(s.LedgerLatency*float64(time.Second)).Round(100*time.Microsecond).String()
	}
	if s.Redis != nil && s.Redis.Up {
		line += "; Redis answers"
	} else if s.Redis != nil {
		line += "; Redis does not answer"
	}
	printf(w, "%s\n\n", line)
	if len(s.Instances) == 0 {
		return nil
	}
	rows := [][]string{{"INSTANCE", "ROLES", "S3", "VERSION", "STARTED", "SEEN"}}
	for _, i := range slices.SortedStableFunc(slices.Values(s.Instances), func(x, y api.Instance) int { return x.Started.Compare(y.Started) }) {
		seen := words.When(i.Seen, s.Now)
		if i.Silent {
			seen += ", SILENT"
		}
		if i.Unanswered {
			seen += ", no answer"
		}
		rows = append(rows, []string{i.ID, strings.Join(i.Roles, ","), cmp.Or(i.S3, "-"), i.Version, words.When(i.Started, s.Now), seen})
	}
	err := table(w, rows)
	printf(w, "\n")
	return err
}
