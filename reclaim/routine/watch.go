package routine

import (
	"context"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
)

// WatchLedger takes back what dead workers left.
type WatchLedger interface {
	// RecoverClaims takes back claims (of condemned and pending rows) older than
	// grace.
	RecoverClaims(ctx context.Context, grace time.Duration, limit int) ([]ledger.Recovered, error)
	// EndStaleRuns ends every run in progress whose heartbeat is older than age,
	// and returns them.
	EndStaleRuns(ctx context.Context, age time.Duration) ([]ledger.Run, error)
}

// Watch takes back what dead workers left claimed, and ends the runs that they left
// open. Taking back too early only repeats work: the earlier claim's settle is
// fenced.
type Watch struct {
	Ledger WatchLedger
	Safety reclaim.Safety
	Limit  int // rows per step
	Events *reclaim.Events
}

// Name returns "watch".
func (*Watch) Name() string { return "watch" }

// Plan returns nothing: what is stale is known only when it is taken back.
func (*Watch) Plan(context.Context) (ledger.Backlog, error) { return ledger.Backlog{}, nil }

// Pass ends stale runs, and recovers stale claims batch by batch.
func (w *Watch) Pass(string) reclaim.Step {
	first := true
	return func(ctx context.Context, add reclaim.Add) (bool, error) {
		if first {
			if err := w.runs(ctx, add); err != nil {
				return false, err
			}
			first = false
		}
		return w.claims(ctx, add)
	}
}

func (w *Watch) runs(ctx context.Context, add reclaim.Add) error {
	ended, err := w.Ledger.EndStaleRuns(ctx, w.Safety.ClaimGrace)
	if err != nil {
		return fmt.Errorf("reclaim: end stale runs: %w", err)
	}
	for _, r := range ended {
		w.Events.EmitRunTakenOver(r)
	}
	add(reclaim.Items, int64(len(ended)))
	add("runs", int64(len(ended)))
	return nil
}

func (w *Watch) claims(ctx context.Context, add reclaim.Add) (bool, error) {
	recovered, err := w.Ledger.RecoverClaims(ctx, w.Safety.ClaimGrace, w.Limit)
	if err != nil {
		return false, fmt.Errorf("reclaim: recover claims: %w", err)
	}
	var n int64
	for _, r := range recovered {
		n += r.Claims
		w.Events.EmitClaimsRecovered(r, "its claim is too old")
	}
	add(reclaim.Items, n)
	add("recovered", n)
	return w.Limit > 0 && n >= int64(w.Limit), nil
}

// WhySafe implements reclaim.SafeUnpaired.
func (*Watch) WhySafe() string { return "it takes back claims, and removes nothing" }
