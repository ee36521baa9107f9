package reclaim

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe/ledger"
)

// WatchLedger takes back what dead workers left.
type WatchLedger interface {
	CleanLedger
	SoloLedger
}

// Watch takes back what dead workers left claimed, and ends the runs that they left
// open. Taking back too early only repeats work: the earlier claim's settle is
// fenced.
type Watch struct {
	Ledger WatchLedger
	Safety Safety
	Limit  int // rows per step
	Events *Events
}

// Name returns "watch".
func (*Watch) Name() string { return "watch" }

// Plan returns nothing: what is stale is known only when it is taken back.
func (*Watch) Plan(context.Context) (ledger.Backlog, error) { return ledger.Backlog{}, nil }

// Pass ends stale runs, and recovers stale claims batch by batch.
func (w *Watch) Pass(string) Step {
	first := true
	return func(ctx context.Context, c *Counts) (bool, error) {
		if first {
			if err := w.runs(ctx, c); err != nil {
				return false, err
			}
			first = false
		}
		return w.claims(ctx, c)
	}
}

func (w *Watch) runs(ctx context.Context, c *Counts) error {
	ended, err := w.Ledger.EndStaleRuns(ctx, w.Safety.ClaimGrace)
	if err != nil {
		return fmt.Errorf("reclaim: end stale runs: %w", err)
	}
	for _, r := range ended {
		w.Events.runTakenOver(r)
	}
	c.Add(Items, int64(len(ended)))
	c.Add("runs", int64(len(ended)))
	return nil
}

func (w *Watch) claims(ctx context.Context, c *Counts) (bool, error) {
	recovered, err := w.Ledger.RecoverClaims(ctx, w.Safety.ClaimGrace, w.Limit)
	if err != nil {
		return false, fmt.Errorf("reclaim: recover claims: %w", err)
	}
	var n int64
	for _, r := range recovered {
		n += r.Claims
		w.Events.claimsRecovered(r)
	}
	c.Add(Items, n)
	c.Add("recovered", n)
	return w.Limit > 0 && n >= int64(w.Limit), nil
}
