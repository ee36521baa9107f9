package app

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/ledger"
)

// A run that found nothing leaves no line: an idle store would write one every 10 seconds.
func TestIdleRunsAreNotLogged(t *testing.T) {
	var log bytes.Buffer
	ended := newObserver(Options{Log: slog.New(slog.NewTextHandler(&log, nil))}).engine().RunEnded
	ended(ledger.Run{Routine: "evict", Outcome: "ok"}, nil)
	if log.Len() > 0 {
		t.Errorf("nothing was evicted, and the log says %s", &log)
	}
	ended(ledger.Run{Routine: "evict", Outcome: "ok", Counts: map[string]int64{"objects": 3}}, nil)
	if !strings.Contains(log.String(), "run ended") {
		t.Errorf("three objects were evicted, and the log says %q", &log)
	}
}
