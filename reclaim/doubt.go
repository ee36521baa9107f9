package reclaim

import (
	"context"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
)

// unlessBehind makes a step refuse while the clock is in doubt: a clock that ran
// back, or was set forward, was wrong before or is now, so that nobody knows what is
// due by it (docs/protocol.md, rule 13). What was condemned already is dead by any clock, and
// needs no such care. Nil is never in doubt.
func unlessBehind(c AgeLedger, step Step) Step {
	if c == nil {
		return step
	}
	return func(ctx context.Context, n *Counts) (bool, error) {
		if d := c.ClockAhead(); d > 0 {
			return false, fmt.Errorf("reclaim: %w: the ledger's clock was set forward by %s; nothing is removed for its age "+
				"until it is set back, or, if it is right now, this process is started anew", lethe.ErrClock, d.Round(time.Second))
		}
		if d := c.ClockBehind(); d > 0 {
			return false, fmt.Errorf("reclaim: %w: the machine's clock lies %s behind the latest time in the ledger; "+
				"nothing is removed for its age before it has caught up: check the clock", lethe.ErrClock, d.Round(time.Second))
		}
		return step(ctx, n)
	}
}

// inTurn makes one step of several: each until it finds nothing more, then the
// next.
func inTurn(steps ...Step) Step {
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
