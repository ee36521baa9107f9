package routine

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/throttle"
)

// Drop notifies the cache that contents lost their last reference. It is a hint:
// visibility is decided by the object row, always (docs/protocol.md, rule 11).
type Drop func(ctx context.Context, contents []lethe.ID)

func drop(ctx context.Context, d Drop, contents []lethe.ID) {
	if d != nil && len(contents) > 0 {
		d(ctx, contents)
	}
}

// ClaimLock runs a claim while, if possible, no other claim of that name runs. It
// returns the claim's error, or that of a ctx that ended during the wait. Claims
// are disjoint without it: it only avoids contention. Nil runs each claim at once.
type ClaimLock func(ctx context.Context, name string, claim func(context.Context) error) error

// locked runs a claim under a lock.
func locked[Q, R any](l ClaimLock, name string, claim func(context.Context, Q) (R, error)) func(context.Context, Q) (R, error) {
	if l == nil {
		return claim
	}
	return func(ctx context.Context, q Q) (r R, err error) {
		err = l(ctx, name, func(ctx context.Context) error {
			r, err = claim(ctx, q)
			return err
		})
		return r, err
	}
}

// reclaimer is a transition that removes a batch of what is due.
type reclaimer func(context.Context, ledger.Batch) (ledger.Reclaimed, error)

// sized sets the size of batches that the backoff level allows now.
func sized(batch reclaimer, t *throttle.Controller) reclaimer {
	return func(ctx context.Context, b ledger.Batch) (ledger.Reclaimed, error) {
		b.Limit, b.MaxBlobs = t.Size(b.Limit), t.Size(b.MaxBlobs)
		return batch(ctx, b)
	}
}

// sweep walks due rows batch by batch, resuming from the last due time instead
// of rescanning what earlier batches left dead in the index.
func sweep(batch reclaimer, b ledger.Batch, done func(context.Context, ledger.Reclaimed)) reclaim.Step {
	return func(ctx context.Context, add reclaim.Add) (bool, error) {
		r, err := batch(ctx, b)
		if err != nil {
			return false, fmt.Errorf("reclaim: batch from due %s: %w", b.After, err)
		}
		b.After = r.LastDue
		countReclaimed(add, r)
		done(ctx, r)
		return r.More, nil
	}
}

func countReclaimed(add reclaim.Add, r ledger.Reclaimed) {
	add(reclaim.Items, int64(r.Objects))
	add("objects", int64(r.Objects))
	add("by_rules", int64(r.ByRules()))
	add("reapplied", int64(r.Reapplied))
	add("bytes", r.Bytes)
	add("condemned", int64(r.Blobs))
	add("condemned_bytes", r.BlobBytes)
	add("inline", int64(r.Inline))
	add("inline_bytes", r.InlineBytes)
}
