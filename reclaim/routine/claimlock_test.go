package routine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// underLock notes the claims that reach the ledger, with the lock that is held.
type underLock struct {
	ledgertest.EngineLedger
	held   string
	claims []string
}

func (u *underLock) lock(ctx context.Context, name string, claim func(context.Context) error) error {
	u.held = name
	defer func() { u.held = "" }()
	return claim(ctx)
}

func (u *underLock) note(claim string) { u.claims = append(u.claims, claim+" under "+u.held) }

func (u *underLock) Expire(ctx context.Context, b ledger.Batch) (ledger.Reclaimed, error) {
	u.note("expire")
	return u.EngineLedger.Expire(ctx, b)
}

func (u *underLock) Purge(ctx context.Context, b ledger.Batch) (ledger.Reclaimed, error) {
	u.note("purge")
	return u.EngineLedger.Purge(ctx, b)
}

func (u *underLock) ClaimCondemned(ctx context.Context, r ledger.ClaimRequest) (ledger.Claimed, error) {
	u.note("clean")
	return u.EngineLedger.ClaimCondemned(ctx, r)
}

func (u *underLock) ClaimIntents(ctx context.Context, r ledger.ClaimRequest) (ledger.ClaimedIntents, error) {
	u.note("reap")
	return u.EngineLedger.ClaimIntents(ctx, r)
}

// Routines claim under the lock of their name, which the cleaner has for each backend.
func TestClaimsAreMadeUnderTheLock(t *testing.T) {
	w := newWorld(t)
	w.Put("a", "bytes of a")
	w.Remove("a")
	w.Clock.Advance(24 * time.Hour)
	l := &underLock{EngineLedger: w.Ledger}
	k := w.clean()
	k.Ledger, k.Lock = l, l.lock
	batch := ledger.Batch{Limit: 10}
	for _, r := range []reclaim.Routine{
		&routine.Expire{Ledger: l, Batch: batch, Lock: l.lock}, &routine.Purge{Ledger: l, Batch: batch, Lock: l.lock}, k,
		&routine.Reap{Ledger: l, Stores: w.Stores, Store: w.Store, Safety: w.Safety, Limit: 10, Lock: l.lock},
	} {
		w.Must(walk(w.Ctx, r))
	}
	slices.Sort(l.claims)
	want := []string{"clean under clean:main", "expire under expire", "purge under purge", "reap under reap"}
	if got := slices.Compact(l.claims); !slices.Equal(got, want) {
		t.Errorf("claimed were %q, want %q", got, want)
	}
}
