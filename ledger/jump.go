package ledger

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/lethe-storage/lethe"
)

// Jump notices that a clock was set forward, by one that cannot be set. It is safe for
// concurrent use.
type Jump struct {
	Boot lethe.Clock   // Options.Boot; without it nothing is noticed
	Most time.Duration // by how much a clock may be corrected (Options.ClockJump)
	id   string        // of the start from which Boot counts

	mu    sync.Mutex
	known bool
	least time.Duration // by which the clock was ahead of boot; it only falls
	last  time.Duration // by which it was when it was last looked at
	ahead atomic.Int64  // by how much it is ahead of the time that really passed
}

// Over makes the jump of a ledger that is opened.
func (j *Jump) Over(o Options) { j.Boot, j.id, j.Most = o.Boot, o.BootID, o.ClockJump }

// Resume goes on from by how much the clock was ahead of boot when an earlier process
// last looked, if the machine has not been started since.
func (j *Jump) Resume(id string, last lethe.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.Boot != nil && j.id != "" && j.id == id {
		j.least, j.last, j.known = last.Sub(0), last.Sub(0), true
	}
}

// Mark is what resume wants to know.
func (j *Jump) Mark() (id string, last lethe.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.Boot == nil || !j.known {
		return "", 0
	}
	return j.id, lethe.Time(0).Add(j.last)
}

// Held returns the time that the clock showed, or, if it was set forward, the time
// that it would show had it not been: what is written then is not stamped ahead, and
// nothing becomes due by the jump.
func (j *Jump) Held(wall lethe.Time) lethe.Time {
	if j.Boot == nil {
		return wall
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	d := wall.Sub(j.Boot.Now())
	j.last = d
	if !j.known || d < j.least {
		j.least, j.known = d, true
	}
	ahead := d - j.least
	if ahead <= j.Most {
		j.ahead.Store(0)
		return wall
	}
	j.ahead.Store(int64(ahead))
	return wall.Add(-ahead)
}

// Ahead returns by how much the clock was ahead when it was last held.
func (j *Jump) Ahead() time.Duration { return time.Duration(j.ahead.Load()) }
