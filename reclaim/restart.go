package reclaim

import (
	"cmp"
	"context"
	"time"

	"github.com/lethe-storage/lethe"
)

// RestartInterval makes a long pass begin again at the oldest. A pass remembers how far it
// came, so as not to read again the rows that it left dead. Rows that become due
// behind its place, because a hold was released, a claim was taken over or a limit
// allows them again, would otherwise wait until nothing more is due. Beginning
// again costs a few transactions, whatever the number of objects. The zero value
// never begins again.
type RestartInterval struct {
	// Time is Safety.PassTime. 0: a pass goes on from where it is.
	Time time.Duration
	// Clock never jumps (default lethe.Monotonic).
	Clock lethe.Clock
}

// of returns one pass made of many.
func (r RestartInterval) of(begin func() Step) Step {
	step := begin()
	if r.Time <= 0 {
		return step
	}
	clock := cmp.Or[lethe.Clock](r.Clock, lethe.Monotonic{})
	began := clock.Now()
	return func(ctx context.Context, c *Counts) (bool, error) {
		if now := clock.Now(); now.Sub(began) >= r.Time {
			step, began = begin(), now
			c.Add("rounds", 1)
		}
		return step(ctx, c)
	}
}
