package reclaim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// SafeUnpaired is a routine that runs even while it is not confirmed that the ledger is
// the one that the backends belong to. Every other routine waits.
type SafeUnpaired interface {
	Routine
	// SparedAs returns why the routine destroys nothing then.
	SparedAs() string
}

// SparedAs implements Spared.
func (*Clean) SparedAs() string {
	return "it asks for each backend, and claims nothing where deletes are held"
}

// SparedAs implements Spared.
func (*Verify) SparedAs() string { return "it reads, and marks what is missing" }

// SparedAs implements Spared.
func (*Recount) SparedAs() string { return "it reads" }

// SparedAs implements Spared.
func (*Watch) SparedAs() string { return "it takes back claims, and removes nothing" }

// ledgerInDoubt reports whether a backend is held because it may not belong to this
// ledger, and not for a fault of the backend.
func ledgerInDoubt(b ledger.Backend) bool { return b.HeldFor == ledger.HeldForLedger }

// Confirmed returns nil if what the ledger has due may be removed. It returns
// ErrBackendMismatch while a backend is held because the ledger was restored or is
// a copy, until an operator accepts it (Accept), and while no backend carries an
// epoch.
//
// Another error means that no backend could be read yet. One that was read is
// enough, as Check reads each of the others before anything is deleted there.
func (g *Pairing) Confirmed(ctx context.Context) error {
	all, err := g.Ledger.Backends(ctx)
	if err != nil {
		return err
	}
	for _, b := range all {
		if g.Stores[b.ID] != nil && ledgerInDoubt(b) {
			return fmt.Errorf("%w: backend %s is held: %s; look into it, then: lethe backend accept %s", lethe.ErrBackendMismatch, b.ID, b.Held, b.ID)
		}
	}
	if g.told.Load() || len(g.Stores) == 0 {
		return nil
	}
	var errs []error
	var none error
	for _, id := range slices.Sorted(maps.Keys(g.Stores)) {
		switch err := g.Check(ctx, id); {
		case errors.Is(err, lethe.ErrBackendMismatch):
			none = err
		case err != nil:
			errs = append(errs, err)
		}
	}
	if g.told.Load() {
		return g.Confirmed(ctx)
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return none
}

// unlessUnconfirmed makes a destructive step do nothing while the ledger is in
// doubt. Plans still list what is due.
func (l *Loop) unlessUnconfirmed(r Routine, step Step) Step {
	return func(ctx context.Context, c *Counts) (bool, error) {
		switch err := l.confirmed(ctx, r); {
		case errors.Is(err, lethe.ErrBackendMismatch):
			c.Add("held", 1)
			return false, nil
		case err != nil:
			return false, fmt.Errorf("reclaim: whether the ledger is the one that the backends belong to: %w", err)
		}
		return step(ctx, c)
	}
}

func (l *Loop) confirmed(ctx context.Context, r Routine) error {
	if _, spared := r.(SafeUnpaired); spared || l.Confirmed == nil {
		return nil
	}
	return l.Confirmed(ctx)
}
