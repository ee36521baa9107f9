package adopt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// Taker is rows without columns for a claim.
type Taker interface {
	// Take removes up to limit rows that have expired and are not held, the
	// oldest first, as Settle does, in one transaction. It skips locked rows.
	// Copies are recorded to be dropped after it, and once more after again. It
	// may fail with a *Refusal.
	Take(ctx context.Context, limit int, again time.Duration) (Settled, error)
	// Due counts the rows that Take would remove.
	Due(ctx context.Context) (Backlog, error)
}

// Take removes expired rows of tables without columns for a claim: in one
// transaction, under the locks of the rows. A dead worker leaves nothing
// behind. Copies in a cache are dropped after their row is gone, not before.
type Take struct {
	Collection string
	Records    Taker
	Holds      RowHolder
	Grace      Grace
	Batch      int // rows a transaction
	Events     *Events
}

// Name returns the routine's name in runs and metrics.
func (t *Take) Name() string { return "expire " + t.Collection }

// Plan counts what is due.
func (t *Take) Plan(ctx context.Context) (Backlog, error) { return t.Records.Due(ctx) }

// Pass runs until nothing is due; each step is one transaction. If the database
// refuses a row, transactions shrink until that row is alone, and is held.
func (t *Take) Pass(string) func(ctx context.Context, add func(string, int64)) (bool, error) {
	size, again := t.Batch, repetition{}
	return func(ctx context.Context, add func(string, int64)) (bool, error) {
		settled, err := t.Records.Take(ctx, size, t.Grace.CacheAgain)
		var refused *Refusal
		switch {
		case errors.As(err, &refused) && len(refused.Rows) > 1:
			size = len(refused.Rows) / 2
			return true, nil
		case errors.As(err, &refused):
			settled = Settled{Refused: 1}
			settled.report(add, t.Events, t.Collection)
			return true, cmp.Or(refused.rest(ctx, t.Holds, t.Events, t.Collection), again.of(refused.Rows, settled))
		case err != nil:
			return false, fmt.Errorf("take rows of %s: %w", t.Collection, err)
		}
		settled.report(add, t.Events, t.Collection)
		more := settled.Gone == size
		size = min(2*size, t.Batch)
		return more, nil
	}
}
