package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
)

// Unrecorded states are audited once for each backend; refusals, and failures
// without effect, are not.
func TestFailuresAreReported(t *testing.T) {
	on := func(backends ...string) (out []sqlledger.CondemnedBlob) {
		for i, b := range backends {
			out = append(out, sqlledger.CondemnedBlob{ID: lethe.ID(fmt.Sprint("blob", i)), Backend: b, Size: 3})
		}
		return out
	}
	for _, c := range []struct {
		name string
		t    sqlledger.Transaction
		want []string // of each line
	}{
		{"done", sqlledger.Transaction{Name: "Expire", Condemned: on("a")}, nil},
		{"refused", sqlledger.Transaction{Name: "Delete", Tries: 1, Condemned: on("a"), Err: lethe.ErrPreconditionFailed}, nil},
		{"its turn never came", sqlledger.Transaction{Name: "Delete", Err: context.Canceled}, nil},
		{"the database is away", sqlledger.Transaction{Name: "Complete", Tries: 1, Err: lethe.ErrUnavailable}, nil},
		{"a claim stays", sqlledger.Transaction{Name: "Promote", Err: lethe.ErrUnavailable}, []string{`"stage":"promote"`}},
		{"unknown", sqlledger.Transaction{Name: "Delete", Tries: 1, Op: "op1", Err: lethe.ErrUnknownOutcome}, []string{`"op":"op1"`}},
		{"on two backends", sqlledger.Transaction{Name: "Purge", Tries: 1, Condemned: on("a", "b", "a"), Err: errors.New("not well")},
			[]string{`"backend":"a","stage":"condemn","bytes":6,"count":2`, `"backend":"b","stage":"condemn","bytes":3,"key":`}},
		{"others report it", sqlledger.Transaction{Name: "Commit", Tries: 1, Err: lethe.ErrUnknownOutcome}, nil},
	} {
		var log bytes.Buffer
		w := newObserver(Options{Log: slog.New(slog.NewJSONHandler(&log, nil))})
		w.unrecorded(c.t)
		lines := strings.Split(strings.TrimSuffix(log.String(), "\n"), "\n")
		if log.Len() == 0 {
			lines = nil
		}
		if len(lines) != len(c.want) {
			t.Errorf("%s: %q", c.name, lines)
			continue
		}
		for i, line := range lines {
			if !strings.Contains(line, c.want[i]) || !strings.Contains(line, `"event":"enqueue_failed"`) {
				t.Errorf("%s: %s has no %s", c.name, line, c.want[i])
			}
		}
	}
}
