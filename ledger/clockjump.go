package ledger

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/lethe-storage/lethe"
)

// Jump detects that a clock was set forward, by comparison with one that cannot be set. It
// is safe for concurrent use.
type Jump struct {
	Boot lethe.Clock   // Options.Boot; nil: nothing is detected
	Most time.Duration // the largest correction of a clock that is no jump (Options.ClockJump)
	id   string        // the machine's start from which Boot counts

	mu    sync.Mutex
	known bool
	least time.Duration // the smallest lead of the clock over Boot since the last confirmed one
	last  time.Duration // the lead over Boot at the last look
	ahead atomic.Int64  // how far the clock is ahead of the time that really passed
}

// Configure takes the clock to compare with from the options of a ledger.
func (j *Jump) Configure(o Options) { j.Boot, j.id, j.Most = o.Boot, o.BootID, o.ClockJump }

// Resume continues from the lead over Boot that was right for an earlier process, if the
// machine has not restarted since.
func (j *Jump) Resume(id string, right lethe.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.Boot != nil && j.id != "" && j.id == id {
		j.least, j.known = right.Sub(0), true
	}
}

// Mark returns what Resume needs in the next process. Without an id what it got before
// stands: while the clock is ahead, another process may have confirmed it.
func (j *Jump) Mark() (id string, right lethe.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.Boot == nil || !j.known || j.Ahead() > 0 {
		return "", 0
	}
	return j.id, lethe.Time(0).Add(j.least)
}

// Confirmed returns what Resume needs if the clock was right at the last look. Unless it is
// ahead, Mark returns the same from now on.
func (j *Jump) Confirmed() (id string, right lethe.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.Ahead() == 0 {
		j.least = j.last
	}
	return j.id, lethe.Time(0).Add(j.last)
}

// Corrected returns the given time, or, if the clock was set forward, the time without the jump.
// So nothing is stamped ahead, and nothing becomes due by the jump.
func (j *Jump) Corrected(wall lethe.Time) lethe.Time {
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

// Ahead returns how far the clock was ahead at the last call of Corrected.
func (j *Jump) Ahead() time.Duration { return time.Duration(j.ahead.Load()) }
