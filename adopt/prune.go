package adopt

import (
	"context"
	"time"
)

// Pruner forgets what was kept of what is over.
type Pruner interface {
	// Prune removes up to limit receipts older than receipts, and as many runs older than
	// runs, and returns how many. One transaction.
	Prune(ctx context.Context, receipts, runs time.Duration, limit int) (int, error)
}

// Ages of what is kept.
const (
	KeepReceipts = 90 * 24 * time.Hour // unless the description says otherwise
	keepRuns     = 30 * 24 * time.Hour
)

// Prune keeps Lethe's own tables from growing for ever.
type Prune struct {
	Records  Pruner
	Receipts time.Duration // how long they are kept
	Batch    int
}

// Name returns the routine's name in runs and metrics.
func (*Prune) Name() string { return "prune" }

// Plan returns nothing: what is over is no backlog.
func (*Prune) Plan(context.Context) (Backlog, error) { return Backlog{}, nil }

// Pass goes on until nothing is too old.
func (p *Prune) Pass(string) func(ctx context.Context, add func(string, int64)) (bool, error) {
	return func(ctx context.Context, add func(string, int64)) (bool, error) {
		n, err := p.Records.Prune(ctx, p.Receipts, keepRuns, p.Batch)
		add("items", int64(n))
		return err == nil && n >= p.Batch, err
	}
}
