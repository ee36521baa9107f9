package pairing_test

import (
	"context"
	"testing"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger/memledger"
	"github.com/lethe-storage/lethe/reclaim/pairing"
)

// between calls a function once, before an epoch is intended.
type between struct {
	*memledger.DB
	then func()
}

func (b *between) SetEpoch(ctx context.Context, backend string, intended, epoch int64) error {
	if then := b.then; then != nil {
		b.then = nil
		then()
	}
	return b.DB.SetEpoch(ctx, backend, intended, epoch)
}

// listed calls a function once, after a listing.
type listed struct {
	blob.Store
	then func()
}

func (l *listed) List(ctx context.Context, prefix, after string, fn func(blob.Info) error) error {
	err := l.Store.List(ctx, prefix, after, fn)
	if then := l.then; then != nil {
		l.then = nil
		then()
	}
	return err
}

// Instances that advance the epoch at the same time, or between another's steps, do
// not disturb each other.
func TestInstancesAdvanceTheEpochSideBySide(t *testing.T) {
	w := newWorld(t)
	other := &pairing.Pairing{Ledger: w.Ledger, Stores: w.Stores, Clock: w.Clock}
	advance := func() { w.Must(other.Advance(w.Ctx, "main")) }
	ledger, store := &between{DB: w.Ledger}, &listed{Store: w.Bytes}
	g := &pairing.Pairing{Ledger: ledger, Stores: map[string]blob.Store{"main": store}, Clock: w.Clock}
	advance()
	w.Must(g.Advance(w.Ctx, "main"))
	for range 3 {
		ledger.then = advance
		w.Must(g.Advance(w.Ctx, "main"))
		store.then = advance
		w.Must(g.Check(w.Ctx, "main"))
		store.then = advance
		w.Must(g.Advance(w.Ctx, "main"))
	}
	list, err := w.Ledger.Backends(w.Ctx)
	w.Must(err)
	if list[0].Held != "" || list[0].Epoch != list[0].Intended {
		t.Errorf("the backend is %+v", list[0])
	}
}
