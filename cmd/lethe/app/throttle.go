package app

import (
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
)

// throttleFor is how often the same trouble is told at most.
const throttleFor = time.Minute

// throttle lets one of many log lines of a kind through. The zero value is ready.
type throttle struct {
	clock lethe.Clock // default lethe.Monotonic

	mu     sync.Mutex
	told   lethe.Time
	untold int
}

// tell says whether to tell now, and how often it was not told since the last
// time.
func (t *throttle) tell() (untold int, ok bool) {
	clock := t.clock
	if clock == nil {
		clock = lethe.Monotonic{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := clock.Now()
	if t.told != 0 && now.Sub(t.told) < throttleFor {
		t.untold++
		return 0, false
	}
	untold, t.untold, t.told = t.untold, 0, now
	return untold, true
}
