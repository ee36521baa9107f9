package routine

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
)

// TallyLedger counts what is waiting.
type TallyLedger interface {
	TallyOrphans(ctx context.Context) ([]ledger.Tally, error)
}

// Recount compares the counters of orphan bytes (condemned blobs and dead letters)
// and of intents with a count of the rows. Each transaction moves row and counter
// together, so a difference is a defect of the ledger or of Lethe. It is reported,
// and nothing is corrected: a correction could hide a row that went missing.
type Recount struct {
	Ledger TallyLedger
	Events *reclaim.Events
}

// Name returns "recount".
func (*Recount) Name() string { return "recount" }

// Plan returns nothing: there is no backlog.
func (*Recount) Plan(context.Context) (ledger.Backlog, error) { return ledger.Backlog{}, nil }

// Pass recounts once.
func (r *Recount) Pass(string) reclaim.Step {
	return func(ctx context.Context, add reclaim.Add) (bool, error) {
		list, err := r.Ledger.TallyOrphans(ctx)
		if err != nil {
			return false, fmt.Errorf("reclaim: recount: %w", err)
		}
		for _, t := range list {
			add(reclaim.Items, t.Rows)
			add("rows", t.Rows)
			add("bytes", t.RowBytes)
			if t.Agrees() {
				continue
			}
			add("problems", 1)
			r.Events.EmitFound(reclaim.Problem{Kind: "counter", Backend: t.Backend, Name: t.State.String(), Detail: fmt.Sprintf(
				"the rows are %d of %d bytes, the counter has %d of %d", t.Rows, t.RowBytes, t.Counted, t.CountedBytes)})
		}
		return false, nil
	}
}

// WhySafe implements reclaim.SafeUnpaired.
func (*Recount) WhySafe() string { return "it reads" }
