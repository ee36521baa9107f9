package engine

import (
	"sync/atomic"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

const (
	// clockStep is how far the clock may advance before the next write saves its highest
	// time.
	clockStep = time.Second
	// clockSlack is how far the wall clock may lie behind before it counts as behind.
	clockSlack = time.Minute
)

// ledgerClock never runs backwards, neither in a process nor across restarts.
type ledgerClock struct {
	wall  lethe.Clock
	jump  ledger.Jump
	high  atomic.Int64 // highest time ever used
	saved lethe.Time   // value of store.clock_high; used by the writer only
	noted bool         // this process has saved its mark; used by the writer only
}

// now returns the wall clock's time, or the highest time used if that is later.
func (c *ledgerClock) now() lethe.Time {
	wall := int64(c.jump.Corrected(c.wall.Now()))
	for {
		high := c.high.Load()
		if wall <= high {
			return lethe.Time(high)
		}
		if c.high.CompareAndSwap(high, wall) {
			return lethe.Time(wall)
		}
	}
}

// behind returns how far the wall clock lies behind the highest time used; 0 if less than
// clockSlack.
func (c *ledgerClock) behind() time.Duration {
	d := lethe.Time(c.high.Load()).Sub(c.wall.Now())
	if d <= clockSlack {
		return 0
	}
	return d
}

var (
	saveClock = Register(`UPDATE store SET clock_high = ?1,
		boot = CASE WHEN ?2 = '' THEN boot ELSE ?2 END, boot_offset = CASE WHEN ?2 = '' THEN boot_offset ELSE ?3 END
		WHERE one = 1 AND clock_high < ?1`)
	getBoot = Register(`SELECT boot, boot_offset FROM store WHERE one = 1`)
)

// saving returns the arguments of saveClock.
func (c *ledgerClock) saving(high lethe.Time) []any {
	id, offset := c.jump.Mark()
	return []any{int64(high), id, int64(offset)}
}

// ClockBehind implements database.
func (f *File) ClockBehind() time.Duration { return f.clock.behind() }

// ClockAhead implements database.
func (f *File) ClockAhead() time.Duration {
	f.clock.now()
	return f.clock.jump.Ahead()
}

func (f *File) leap() *ledger.Jump { return &f.clock.jump }

func (f *File) highest() *atomic.Int64 { return &f.clock.high }

func (f *File) lower(to lethe.Time) {
	f.clock.saved = to
	f.clock.high.Store(int64(to))
}
