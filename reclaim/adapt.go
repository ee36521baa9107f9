package reclaim

import (
	"context"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// Adapted is a routine of a package that does not import this one. Its steps
// report to a function what they did.
type Adapted interface {
	Name() string
	Pass(worker string) func(ctx context.Context, add func(name string, n int64)) (more bool, err error)
	Plan(ctx context.Context) (ledger.Backlog, error)
}

// adaptedPlans are the additional methods of a borrowed routine that makes plans.
type adaptedPlans interface {
	Adapted
	Items(ctx context.Context, yield func(plan.Item) error) error
	Apply(ctx context.Context, worker string, items []plan.Item, add func(name string, n int64)) ([]plan.Result, error)
}

// Adapt returns a Routine around a borrowed one, and a Planner if that makes
// plans.
func Adapt(b Adapted) Routine {
	if p, ok := b.(adaptedPlans); ok {
		return adaptedPlanner{adapter{b}, p}
	}
	return adapter{b}
}

type adaptedPlanner struct {
	adapter
	p adaptedPlans
}

// Items implements Planner.
func (r adaptedPlanner) Items(ctx context.Context, yield func(plan.Item) error) error {
	return r.p.Items(ctx, yield)
}

// Apply implements Planner.
func (r adaptedPlanner) Apply(ctx context.Context, worker string, items []plan.Item, c *Counts) ([]plan.Result, error) {
	return r.p.Apply(ctx, worker, items, c.Add)
}

type adapter struct{ b Adapted }

// Name implements Routine.
func (r adapter) Name() string { return r.b.Name() }

// Plan implements Routine.
func (r adapter) Plan(ctx context.Context) (ledger.Backlog, error) { return r.b.Plan(ctx) }

// Pass implements Routine.
func (r adapter) Pass(worker string) Step {
	step := r.b.Pass(worker)
	return func(ctx context.Context, c *Counts) (bool, error) { return step(ctx, c.Add) }
}
