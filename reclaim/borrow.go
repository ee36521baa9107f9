package reclaim

import (
	"context"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// Borrowed is a routine of a package that does not import this one. Its steps
// report to a function what they did.
type Borrowed interface {
	Name() string
	Pass(worker string) func(ctx context.Context, add func(name string, n int64)) (more bool, err error)
	Plan(ctx context.Context) (ledger.Backlog, error)
}

// borrowedPlans are the additional methods of a borrowed routine that makes plans.
type borrowedPlans interface {
	Borrowed
	Items(ctx context.Context, yield func(plan.Item) error) error
	Apply(ctx context.Context, worker string, items []plan.Item, add func(name string, n int64)) ([]plan.Result, error)
}

// Borrow returns a Routine around a borrowed one, and a Planner if that makes
// plans.
func Borrow(b Borrowed) Routine {
	if p, ok := b.(borrowedPlans); ok {
		return borrowedPlanner{borrowed{b}, p}
	}
	return borrowed{b}
}

type borrowedPlanner struct {
	borrowed
	p borrowedPlans
}

// Items implements Planner.
func (r borrowedPlanner) Items(ctx context.Context, yield func(plan.Item) error) error {
	return r.p.Items(ctx, yield)
}

// Apply implements Planner.
func (r borrowedPlanner) Apply(ctx context.Context, worker string, items []plan.Item, c *Counts) ([]plan.Result, error) {
	return r.p.Apply(ctx, worker, items, c.Add)
}

type borrowed struct{ b Borrowed }

// Name implements Routine.
func (r borrowed) Name() string { return r.b.Name() }

// Plan implements Routine.
func (r borrowed) Plan(ctx context.Context) (ledger.Backlog, error) { return r.b.Plan(ctx) }

// Pass implements Routine.
func (r borrowed) Pass(worker string) Step {
	step := r.b.Pass(worker)
	return func(ctx context.Context, c *Counts) (bool, error) { return step(ctx, c.Add) }
}
