package pairing

import (
	"context"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// Leave has remove take a backend out of the ledger, and then removes the epochs that the ledger
// left there. It forgets them, and would take them for those of another ledger once the backend
// is registered again. Epochs that do not fit stay, as do those of a backend that does not answer.
func (g *Pairing) Leave(ctx context.Context, id string, remove func(ctx context.Context, backend string) error) error {
	store, own := g.own(ctx, id)
	if err := remove(ctx, id); err != nil {
		return err
	}
	g.restart(id)
	if len(own) > 0 {
		_ = g.remove(ctx, id, store, own) // what stays holds the deletes if the backend comes back
	}
	return nil
}

// own returns the epochs of a backend that is certainly this ledger's.
func (g *Pairing) own(ctx context.Context, id string) (store lethe.ID, found epochs) {
	if g.Stores[id] == nil {
		return "", nil
	}
	b, why, err := g.look(ctx, id)
	if err != nil || why.For != "" || b.HeldFor != "" && b.HeldFor != ledger.HeldByPerson {
		return "", nil
	}
	is, b, err := g.lookup(ctx, id)
	if err != nil {
		return "", nil
	}
	if found, err = g.epochs(ctx, id, is.ID); err != nil || judge(b, found).For != "" {
		return "", nil
	}
	return is.ID, found
}
