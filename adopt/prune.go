package adopt

import (
	"context"
	"time"
)

// Pruner forgets what was kept of what is over.
type Pruner interface {
	// Prune removes up to limit runs older than age, and returns how many. One transaction.
	Prune(ctx context.Context, age time.Duration, limit int) (int, error)
}

// Ages of what is kept.
const (
	KeepReceipts = 90 * 24 * time.Hour // unless the description has another
	keepRuns     = 30 * 24 * time.Hour
)

// Prune keeps the table of runs from growing for ever; receipts go by their chain.
type Prune struct {
	Records Pruner
	Batch   int
}

// Name returns the routine's name in runs and metrics.
func (*Prune) Name() string { return "prune" }

// Plan returns nothing: what is over is no backlog.
func (*Prune) Plan(context.Context) (Backlog, error) { return Backlog{}, nil }

// Pass goes on until nothing is too old.
func (p *Prune) Pass(string) func(ctx context.Context, add func(string, int64)) (bool, error) {
	return func(ctx context.Context, add func(string, int64)) (bool, error) {
		n, err := p.Records.Prune(ctx, keepRuns, p.Batch)
		add("items", int64(n))
		return err == nil && n >= p.Batch, err
	}
}
