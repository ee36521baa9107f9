package adoption

import (
	"context"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
)

// adoptRoutine is the common interface of package adopt's routines.
type adoptRoutine interface {
	Name() string
	Pass(worker string) reclaim.Step
	Plan(ctx context.Context) (adopt.Backlog, error)
}

// collected is a routine of the loop for one collection.
type collected struct {
	reclaim.Routine
	collection string
}

// borrow returns a routine of package adopt as one of the loop.
func borrow(collection string, r adoptRoutine) reclaim.Routine {
	return collected{planned{r}, collection}
}

// planned converts a backlog for the loop.
type planned struct{ adoptRoutine }

// Plan implements reclaim.Routine.
func (p planned) Plan(ctx context.Context) (ledger.Backlog, error) {
	b, err := p.adoptRoutine.Plan(ctx)
	return ledger.Backlog{Count: b.Due, Oldest: b.Oldest}, err
}
