package adopt

import (
	"context"
	"time"
)

// Pruner deletes old records.
type Pruner interface {
	// Prune removes up to limit runs older than age, and returns how many. One transaction.
	Prune(ctx context.Context, age time.Duration, limit int) (int, error)
}

// Default ages of records.
const (
	KeepReceipts = 90 * 24 * time.Hour // unless the description has another
	keepRuns     = 30 * 24 * time.Hour
)

// Prune bounds the table of runs; receipts are bounded by their chain.
type Prune struct {
	Records Pruner
	Batch   int
}

// Name returns the routine's name in runs and metrics.
func (*Prune) Name() string { return "prune" }

// Plan returns nothing: old records are not a backlog.
func (*Prune) Plan(context.Context) (Backlog, error) { return Backlog{}, nil }

// Pass runs until nothing is too old.
func (p *Prune) Pass(string) func(ctx context.Context, add func(string, int64)) (bool, error) {
	return func(ctx context.Context, add func(string, int64)) (bool, error) {
		n, err := p.Records.Prune(ctx, keepRuns, p.Batch)
		add("items", int64(n))
		return err == nil && n >= p.Batch, err
	}
}
