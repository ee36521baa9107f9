package app

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/ledger"
)

// A run that found nothing, or only what is held, leaves no line: an idle store would write one every
// 10 seconds.
func TestIdleRunsAreNotLogged(t *testing.T) {
	for _, c := range []struct {
		counts map[string]int64
		logged bool
	}{
		{nil, false},
		{map[string]int64{"held": 3}, false},
		{map[string]int64{"held": 3, "objects": 1}, true},
		{map[string]int64{"objects": 1}, true},
	} {
		var log bytes.Buffer
		newObserver(Options{Log: slog.New(slog.NewTextHandler(&log, nil))}).engine().RunEnded(ledger.Run{Routine: "evict", Outcome: "ok", Counts: c.counts}, nil)
		if strings.Contains(log.String(), "run ended") != c.logged {
			t.Errorf("of %v the log says %q", c.counts, &log)
		}
	}
}

// The audit line of a tripped limit names the bucket, as people do.
func TestTrippedLimitsAreNamed(t *testing.T) {
	for _, g := range []ledger.LimitState{{Kind: ledger.LimitTTL, Subject: "0a", Name: "photos"}, {Kind: ledger.LimitDeletes, Subject: "photos"}} {
		var log bytes.Buffer
		newObserver(Options{Log: slog.New(slog.NewTextHandler(&log, nil))}.withDefaults()).engine().Tripped(g)
		if strings.Count(log.String(), "subject=photos") != 2 {
			t.Errorf("of the limit %+v the log says %q", g, &log)
		}
	}
}
