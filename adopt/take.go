package adopt

import (
	"context"
	"fmt"
	"time"
)

// Taker is rows that have no columns for a claim.
type Taker interface {
	// Take removes up to limit rows that have expired and that no hold keeps, the oldest
	// first, as Settle does, in one transaction. Rows that others have locked are passed over. Copies are
	// written down to be dropped after it, and once more after again.
	Take(ctx context.Context, limit int, again time.Duration) (Settled, error)
	// Due counts the rows that Take would remove.
	Due(ctx context.Context) (Backlog, error)
}

// Take removes rows whose end has come in tables without columns for a claim: in one
// transaction, under the locks of the rows. No worker that died leaves anything behind,
// and copies in a cache are dropped after their row is gone, not before.
type Take struct {
	Collection string
	Records    Taker
	Grace      Grace
	Batch      int // rows a transaction
	Events     *Events
}

// Name returns the routine's name in runs and metrics.
func (t *Take) Name() string { return "expire " + t.Collection }

// Plan counts what is due.
func (t *Take) Plan(ctx context.Context) (Backlog, error) { return t.Records.Due(ctx) }

// Pass goes on until nothing is due; each step is one transaction.
func (t *Take) Pass(string) func(ctx context.Context, add func(string, int64)) (bool, error) {
	return func(ctx context.Context, add func(string, int64)) (bool, error) {
		settled, err := t.Records.Take(ctx, t.Batch, t.Grace.CacheAgain)
		if err != nil {
			return false, fmt.Errorf("take rows of %s: %w", t.Collection, err)
		}
		add("items", int64(settled.Gone))
		add("rows", int64(settled.Gone))
		add("unreferenced", int64(settled.Unreferenced))
		t.Events.drifted(t.Collection, settled.Drifted)
		return settled.Gone == t.Batch, nil
	}
}
