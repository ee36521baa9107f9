package reclaim

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/throttle"
)

// Lifecycle brings objects up to the rules of their buckets. It reapplies rules
// that have changed, and aborts incomplete uploads whose rule is due. Expire
// removes what rules end, and evaluates them again.
type Lifecycle struct {
	Ledger LifecycleLedger
	Limit  int // objects, or uploads, per step
	Events *Events
	// Configure sets the rules of the configuration, before anything else. Nil:
	// there are none.
	Configure func(ctx context.Context) error
	// Controller decides how many objects a step takes.
	Controller *throttle.Controller
}

// Name returns "lifecycle".
func (*Lifecycle) Name() string { return "lifecycle" }

// Plan counts the objects to which rules may have to be reapplied.
func (l *Lifecycle) Plan(ctx context.Context) (ledger.Backlog, error) {
	return l.Ledger.RestampBacklog(ctx)
}

// Pass reapplies rules, from where the last pass ended, and then aborts uploads.
func (l *Lifecycle) Pass(string) Step {
	return inSequence(l.configure, l.restamp, unlessBehind(l.Ledger, l.uploads))
}

func (l *Lifecycle) configure(ctx context.Context, _ *Counts) (bool, error) {
	if l.Configure == nil {
		return false, nil
	}
	return false, l.Configure(ctx)
}

// restamp reapplies the rules to one batch of one bucket.
func (l *Lifecycle) restamp(ctx context.Context, c *Counts) (bool, error) {
	r, err := l.Ledger.Restamp(ctx, l.Controller.Size(l.Limit))
	if err != nil {
		return false, fmt.Errorf("reclaim: reapply lifecycle rules: %w", err)
	}
	c.Add(Items, int64(r.Seen))
	c.Add("seen", int64(r.Seen))
	c.Add("restamped", int64(r.Changed))
	if r.Done {
		c.Add("buckets", 1)
	}
	return r.More, nil
}

// uploads aborts uploads, each in a transaction that evaluates the rules again.
func (l *Lifecycle) uploads(ctx context.Context, c *Counts) (bool, error) {
	due, err := l.Ledger.RuledUploads(ctx, ledger.OverdueQuery{Limit: l.Limit})
	if err != nil {
		return false, fmt.Errorf("reclaim: list uploads that rules abort: %w", err)
	}
	for _, u := range due {
		rule, err := l.Ledger.AbortRuled(ctx, u.Upload.ID)
		if err := countAborted(c, u, err); err != nil {
			return false, err
		}
		if err == nil {
			l.Events.uploadRuled(u.Upload, rule)
		}
	}
	return l.Limit > 0 && len(due) >= l.Limit, nil
}
