package routine

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/plan"
	"github.com/lethe-storage/lethe/reclaim/throttle"
)

// LifecycleLedger applies the lifecycle rules of buckets. Rules stamp an end on
// objects, which Expire then removes.
type LifecycleLedger interface {
	AgeLedger
	// ReapplyRules reapplies the rules to up to limit objects of one bucket whose rules
	// changed, and records its progress.
	ReapplyRules(ctx context.Context, limit int) (ledger.Reapplied, error)
	ReapplyBacklog(ctx context.Context) (ledger.Backlog, error)
	// RuledUploads lists open uploads that rules abort now. AbortRuled aborts one
	// if a rule in force in that transaction requires it, and returns the rule:
	// ErrNoSuchUpload otherwise, and ErrHeld while a hold keeps the upload.
	RuledUploads(ctx context.Context, q ledger.OverdueQuery) ([]ledger.OverdueUpload, error)
	AbortRuled(ctx context.Context, upload lethe.ID) (rule string, err error)
}

// Lifecycle brings objects up to the rules of their buckets. It reapplies rules
// that have changed, and aborts incomplete uploads whose rule is due. Expire
// removes what rules end, and evaluates them again.
type Lifecycle struct {
	Ledger LifecycleLedger
	Limit  int // objects, or uploads, per step
	Events *reclaim.Events
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
	return l.Ledger.ReapplyBacklog(ctx)
}

// Pass reapplies rules, from where the last pass ended, and then aborts uploads.
func (l *Lifecycle) Pass(string) reclaim.Step {
	return inSequence(l.configure, l.reapply, unlessBehind(l.Ledger, l.uploads))
}

func (l *Lifecycle) configure(ctx context.Context, _ reclaim.Add) (bool, error) {
	if l.Configure == nil {
		return false, nil
	}
	return false, l.Configure(ctx)
}

// reapply reapplies the rules to one batch of one bucket.
func (l *Lifecycle) reapply(ctx context.Context, add reclaim.Add) (bool, error) {
	r, err := l.Ledger.ReapplyRules(ctx, l.Controller.Size(l.Limit))
	if err != nil {
		return false, fmt.Errorf("reclaim: reapply lifecycle rules: %w", err)
	}
	add(reclaim.Items, int64(r.Seen))
	add("seen", int64(r.Seen))
	add("reapplied", int64(r.Changed))
	if r.Done {
		add("buckets", 1)
	}
	return r.More, nil
}

// uploads aborts uploads, each in a transaction that evaluates the rules again.
func (l *Lifecycle) uploads(ctx context.Context, add reclaim.Add) (bool, error) {
	due, err := l.Ledger.RuledUploads(ctx, ledger.OverdueQuery{Limit: l.Limit})
	if err != nil {
		return false, fmt.Errorf("reclaim: list uploads that rules abort: %w", err)
	}
	for _, u := range due {
		rule, err := l.Ledger.AbortRuled(ctx, u.Upload.ID)
		if err := countAborted(add, u, err); err != nil {
			return false, err
		}
		if err == nil {
			l.Events.EmitUploadRuled(u.Upload, rule)
		}
	}
	return l.Limit > 0 && len(due) >= l.Limit, nil
}

// HasBacklog implements reclaim.Backlogged.
func (l *Lifecycle) HasBacklog(ctx context.Context) (bool, error) {
	return anyUpload(l.Ledger.RuledUploads(ctx, ledger.OverdueQuery{Limit: 1}))
}

// Items are the uploads that lifecycle rules abort now, including those that are
// held. Reapplying rules destroys nothing, and is no part of a plan.
func (l *Lifecycle) Items(ctx context.Context, yield func(plan.Item) error) error {
	list, err := l.Ledger.RuledUploads(ctx, ledger.OverdueQuery{Held: true})
	return eachUpload(list, err, l.Name(), unlessKept(l.Ledger, yield))
}

// Apply aborts the uploads that a rule in force still aborts, and that are not
// held.
func (l *Lifecycle) Apply(ctx context.Context, _ string, items []plan.Item, add reclaim.Add) ([]plan.Result, error) {
	a := applied(items)
	err := unlessDoubted(ctx, l.Ledger, func(ctx context.Context) error {
		return a.uploads(func(up ledger.Upload) error {
			rule, err := l.Ledger.AbortRuled(ctx, up.ID)
			if err == nil {
				l.Events.EmitUploadRuled(up, rule)
			}
			return err
		}, add)
	})
	return a.out, err
}
