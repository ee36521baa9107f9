package routine

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/plan"
	"github.com/lethe-storage/lethe/reclaim/predict"
)

// AgeLedger reports whether its clock is in doubt.
type AgeLedger = predict.Clock

// unlessBehind makes a step refuse while the clock is in doubt (predict.Doubt). Condemned blobs
// are dead by any clock and need no such check. A nil clock is never in doubt.
func unlessBehind(c AgeLedger, step reclaim.Step) reclaim.Step {
	if c == nil {
		return step
	}
	return func(ctx context.Context, add reclaim.Add) (bool, error) {
		if doubt := predict.Doubt(c); doubt != "" {
			return false, fmt.Errorf("reclaim: %w: %s", lethe.ErrClock, doubt)
		}
		return step(ctx, add)
	}
}

// unlessKept makes what a plan lists stay while the clock is in doubt.
func unlessKept(c AgeLedger, yield func(plan.Item) error) func(plan.Item) error {
	doubt := predict.Doubt(c)
	return func(i plan.Item) error {
		if i.Stays == "" {
			i.Stays = doubt
		}
		return yield(i)
	}
}

// unlessDoubted does the work unless the clock is in doubt.
func unlessDoubted(ctx context.Context, ledger AgeLedger, work func(context.Context) error) error {
	_, err := unlessBehind(ledger, func(ctx context.Context, _ reclaim.Add) (bool, error) { return false, work(ctx) })(ctx, nil)
	return err
}

// inSequence makes one step of several: each runs until it finds nothing more, then the
// next one.
func inSequence(steps ...reclaim.Step) reclaim.Step {
	return func(ctx context.Context, add reclaim.Add) (bool, error) {
		more, err := steps[0](ctx, add)
		if err != nil {
			return false, err
		}
		if !more {
			steps = steps[1:]
		}
		return len(steps) > 0, nil
	}
}

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
func (r RestartInterval) of(begin func() reclaim.Step) reclaim.Step {
	step := begin()
	if r.Time <= 0 {
		return step
	}
	clock := cmp.Or[lethe.Clock](r.Clock, lethe.Monotonic{})
	began := clock.Now()
	return func(ctx context.Context, add reclaim.Add) (bool, error) {
		if now := clock.Now(); now.Sub(began) >= r.Time {
			step, began = begin(), now
			add("rounds", 1)
		}
		return step(ctx, add)
	}
}
