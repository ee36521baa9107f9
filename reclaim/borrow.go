package reclaim

import (
	"context"

	"github.com/lethe-storage/lethe/meta"
)

// Borrowed is a routine of a package that does not know this one: its steps tell a
// function what they did.
type Borrowed interface {
	Name() string
	Pass(worker string) func(ctx context.Context, add func(name string, n int64)) (more bool, err error)
	Plan(ctx context.Context) (meta.Backlog, error)
}

// Borrow makes a Routine of one that is borrowed.
func Borrow(b Borrowed) Routine { return borrowed{b} }

type borrowed struct{ b Borrowed }

// Name implements Routine.
func (r borrowed) Name() string { return r.b.Name() }

// Plan implements Routine.
func (r borrowed) Plan(ctx context.Context) (meta.Backlog, error) { return r.b.Plan(ctx) }

// Pass implements Routine.
func (r borrowed) Pass(worker string) Step {
	step := r.b.Pass(worker)
	return func(ctx context.Context, c *Counts) (bool, error) { return step(ctx, c.Add) }
}
