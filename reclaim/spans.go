package reclaim

import (
	"context"

	"github.com/lethe-storage/lethe/ledger"
)

// Spans report when work begins and ends, for traces. Each returns the context of
// the work, and a function that is called at its end. A nil func is silent. They
// return fast and may be called from several goroutines at once.
type Spans struct {
	// Run: a run begins; its counts are given at its end.
	Run func(ctx context.Context, r ledger.Run) (context.Context, func(counts map[string]int64, err error))
	// Batch: one batch of a routine begins; items is how many it did.
	Batch func(ctx context.Context, routine string) (context.Context, func(items int64, err error))
}

func (s Spans) run(ctx context.Context, r ledger.Run) (context.Context, func(map[string]int64, error)) {
	if s.Run == nil {
		return ctx, func(map[string]int64, error) {}
	}
	return s.Run(ctx, r)
}

// batches reports each step to Spans.
func (s Spans) batches(routine string, step Step) Step {
	if s.Batch == nil {
		return step
	}
	return func(ctx context.Context, c *Counts) (bool, error) {
		before := c.Get(Items)
		ctx, ended := s.Batch(ctx, routine)
		more, err := step(ctx, c)
		ended(c.Get(Items)-before, err)
		return more, err
	}
}
