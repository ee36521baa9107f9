package claimlock

import (
	"context"

	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/reclaim"
)

// Ledger is a reclaim.Ledger whose claims wait for the lock: Expire and Purge,
// which take rows and finish with them in one transaction, and ClaimCondemned and
// ClaimIntents, after which the work goes on outside of the lock.
type Ledger struct {
	reclaim.Ledger
	reclaim.Abilities
	lock *Lock
}

// Wrap puts the lock around the claims of a ledger.
func Wrap(inner reclaim.Ledger, lock *Lock) *Ledger {
	return &Ledger{inner, reclaim.AbilitiesOf(inner), lock}
}

// Expire is reclaim.ExpireLedger's, one caller at a time.
func (l *Ledger) Expire(ctx context.Context, b meta.Batch) (r meta.Reclaimed, err error) {
	err = l.lock.Around(ctx, "expire", func(ctx context.Context) error {
		r, err = l.Ledger.Expire(ctx, b)
		return err
	})
	return r, err
}

// Purge is reclaim.PurgeLedger's, one caller at a time.
func (l *Ledger) Purge(ctx context.Context, b meta.Batch) (r meta.Reclaimed, err error) {
	err = l.lock.Around(ctx, "purge", func(ctx context.Context) error {
		r, err = l.Ledger.Purge(ctx, b)
		return err
	})
	return r, err
}

// ClaimCondemned is reclaim.CleanLedger's, one caller per backend at a time.
func (l *Ledger) ClaimCondemned(ctx context.Context, r meta.ClaimRequest) (c meta.Claimed, err error) {
	err = l.lock.Around(ctx, "clean:"+r.Backend, func(ctx context.Context) error {
		c, err = l.Ledger.ClaimCondemned(ctx, r)
		return err
	})
	return c, err
}

// ClaimIntents is reclaim.ReapLedger's, one caller at a time.
func (l *Ledger) ClaimIntents(ctx context.Context, r meta.ClaimRequest) (c meta.ClaimedIntents, err error) {
	err = l.lock.Around(ctx, "reap", func(ctx context.Context) error {
		c, err = l.Ledger.ClaimIntents(ctx, r)
		return err
	})
	return c, err
}
