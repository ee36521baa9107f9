package adoption

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/ledger"
)

// A run that found only what is held leaves no line, as in the store.
func TestIdleRunsAreNotLogged(t *testing.T) {
	for count, logged := range map[string]bool{"held": false, "rows": true} {
		var log bytes.Buffer
		a := &Adoption{o: Options{Log: slog.New(slog.NewTextHandler(&log, nil))}}
		a.events().RunEnded(ledger.Run{Routine: "expire", Counts: map[string]int64{count: 3}}, nil)
		if strings.Contains(log.String(), "a run ended") != logged {
			t.Errorf("of a run that counts %s the log says %q", count, &log)
		}
	}
}
