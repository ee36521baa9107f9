package reclaim

import (
	"context"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
)

// unlessBehind makes a step refuse while the clock is in doubt. A clock that ran
// back, or was set forward, is wrong now or was before, so it does not show what is
// due (docs/protocol.md, rule 13). What was condemned already is dead by any clock
// and needs no such check. Nil is never in doubt.
func unlessBehind(c AgeLedger, step Step) Step {
	if c == nil {
		return step
	}
	return func(ctx context.Context, n *Counts) (bool, error) {
		if d := c.ClockAhead(); d > 0 {
			return false, fmt.Errorf("reclaim: %w: the ledger's clock was set forward by %s; nothing is removed by age "+
				"until it is set back, or, if it is right, this process is restarted", lethe.ErrClock, d.Round(time.Second))
		}
		if d := c.ClockBehind(); d > 0 {
			return false, fmt.Errorf("reclaim: %w: the machine's clock is %s behind the latest time in the ledger; "+
				"nothing is removed by age until it has caught up: check the clock", lethe.ErrClock, d.Round(time.Second))
		}
		return step(ctx, n)
	}
}

// inSequence makes one step of several: each runs until it finds nothing more, then the
// next one.
func inSequence(steps ...Step) Step {
	return func(ctx context.Context, c *Counts) (bool, error) {
		more, err := steps[0](ctx, c)
		if err != nil {
			return false, err
		}
		if !more {
			steps = steps[1:]
		}
		return len(steps) > 0, nil
	}
}
