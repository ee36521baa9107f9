package memledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// ClaimIntents claims unclaimed pending rows without a heartbeat for MinAge; of one backend,
// if it is named, and silent since After or later.
func (db *DB) ClaimIntents(ctx context.Context, r ledger.ClaimRequest) (ledger.ClaimedIntents, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.ClaimedIntents{}, err
	}
	defer db.leave()
	out := ledger.ClaimedIntents{Now: db.now}
	rows, any := db.silent(r)
	if !any {
		return out, nil
	}
	out.Fence = db.newFence()
	blobs := db.claim(first(rows, r.Limit), r.Worker, out.Fence)
	slices.SortFunc(blobs, func(a, b ledger.Blob) int {
		return cmp.Or(cmp.Compare(a.BeatAt, b.BeatAt), compareIDs(a.ID, b.ID))
	})
	for _, b := range blobs {
		in := ledger.ClaimedIntent{Blob: b}
		if p := db.promos[b.ID]; p != nil {
			in.Promotion = &ledger.Promotion{Commit: cloneCommit(p.commit)}
		}
		out.Intents = append(out.Intents, in)
	}
	return out, nil
}

// Promote commits a proven intent in its writer's place: ErrFenced,
// ErrPreconditionFailed if it was superseded, and the errors of Commit.
func (db *DB) Promote(ctx context.Context, fence int64, id lethe.ID, sums lethe.BlockSums) (ledger.Committed, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Committed{}, err
	}
	defer db.leave()
	b, err := db.reaping(id, fence)
	if err != nil {
		return ledger.Committed{}, err
	}
	p := db.promos[id]
	if p == nil || p.bucket.Name != p.commit.Object.Bucket {
		return ledger.Committed{}, fmt.Errorf("memledger: promote %s: superseded: %w", id, lethe.ErrPreconditionFailed)
	}
	c := cloneCommit(p.commit)
	c.Proven(sums)
	out, err := db.commit(&c, fence)
	if err != nil {
		return out, fmt.Errorf("memledger: promote %s: %w", b.ID, err)
	}
	return out, nil
}

// reaping returns an intent that carries the fence: ErrFenced.
func (db *DB) reaping(id lethe.ID, fence int64) (*blob, error) {
	if b := db.claimedRow(id, lethe.Pending, fence); b != nil {
		return b, nil
	}
	return nil, fmt.Errorf("memledger: intent %s under fence %d: %w", id, fence, lethe.ErrFenced)
}

// CondemnIntent condemns a claimed intent, due after the late window: ErrFenced.
func (db *DB) CondemnIntent(ctx context.Context, fence int64, id lethe.ID) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.leave()
	b, err := db.reaping(id, fence)
	if err != nil {
		return err
	}
	db.condemn(b, death{reason: lethe.ReasonUploadOrphan, at: db.now, silent: true})
	return nil
}

// ReleaseIntent releases a claimed intent: ErrFenced.
func (db *DB) ReleaseIntent(ctx context.Context, fence int64, id lethe.ID) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.leave()
	b, err := db.reaping(id, fence)
	if err != nil {
		return err
	}
	next := b.Blob
	next.Claim = ledger.Claim{}
	db.set(b, next)
	return nil
}

// ReapBacklog counts the unclaimed intents.
func (db *DB) ReapBacklog(ctx context.Context, minAge time.Duration) (ledger.Backlog, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Backlog{}, err
	}
	defer db.leave()
	return backlog(db.pending.rows, db.now, func(b *blob) (lethe.Time, int64) { return b.BeatAt.Add(minAge), b.Size }), nil
}
