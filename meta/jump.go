package meta

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/lethe-storage/lethe"
)

// jump notices that a clock was set forward, by a clock that cannot be set
// (Options.Boot). Without that one it notices nothing.
type jump struct {
	boot lethe.Clock
	id   string        // of the start from which boot counts
	most time.Duration // by how much a clock may be corrected

	mu    sync.Mutex
	known bool
	least time.Duration // by which the clock was ahead of boot; it only falls
	last  time.Duration // by which it was when it was last looked at
	ahead atomic.Int64  // by how much it is ahead of the time that really passed
}

// over makes the jump of a ledger that is opened.
func (j *jump) over(o Options) { j.boot, j.id, j.most = o.Boot, o.BootID, o.ClockJump }

// resume goes on from by how much the clock was ahead of boot when an earlier process
// last looked, if the machine has not been started since.
func (j *jump) resume(id string, last lethe.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.boot != nil && j.id != "" && j.id == id {
		j.least, j.last, j.known = last.Sub(0), last.Sub(0), true
	}
}

// mark is what resume wants to know.
func (j *jump) mark() (id string, last lethe.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.boot == nil || !j.known {
		return "", 0
	}
	return j.id, lethe.Time(0).Add(j.last)
}

// held returns the time that the clock showed, or, if it was set forward, the time
// that it would show had it not been: what is written then is not stamped ahead, and
// nothing becomes due by the jump.
func (j *jump) held(wall lethe.Time) lethe.Time {
	if j.boot == nil {
		return wall
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	d := wall.Sub(j.boot.Now())
	j.last = d
	if !j.known || d < j.least {
		j.least, j.known = d, true
	}
	ahead := d - j.least
	if ahead <= j.most {
		j.ahead.Store(0)
		return wall
	}
	j.ahead.Store(int64(ahead))
	return wall.Add(-ahead)
}

// ClockAhead returns by how much the clock was set forward since the ledger was
// opened, 0 if by no more than Options.ClockJump. The ledger's own clock goes on
// without the jump meanwhile; routines that destroy by age should wait (design rule
// 13). It ends when the clock is set back, or when the ledger is opened anew: whoever
// restarts the process confirms the clock. One that was set forward while no process had
// the ledger open is noticed when it is opened (Options.BootID).
func (db *DB) ClockAhead() time.Duration {
	if db.file != nil {
		db.file.clock.now()
		return time.Duration(db.file.clock.jump.ahead.Load())
	}
	db.engine.behind() // asks the server, if that was long ago
	return time.Duration(db.pg.clock.jump.ahead.Load())
}
