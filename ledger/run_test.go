package ledger_test

import (
	"testing"

	"github.com/lethe-storage/lethe/ledger"
)

func TestIdle(t *testing.T) {
	for _, c := range []struct {
		counts map[string]int64
		idle   bool
	}{
		{nil, true},
		{map[string]int64{"held": 3}, true},
		{map[string]int64{"held": 3, "objects": 1}, false},
		{map[string]int64{"objects": 1}, false},
	} {
		if idle := (ledger.Run{Counts: c.counts}).Idle(); idle != c.idle {
			t.Errorf("a run with the counts %v is idle: %v", c.counts, idle)
		}
	}
}
