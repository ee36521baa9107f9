package reclaim

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/throttle"
)

// Drop notifies the cache that contents lost their last reference. It is a hint:
// visibility is decided by the object row, always (docs/protocol.md, rule 11).
type Drop func(ctx context.Context, contents []lethe.ID)

// Expire removes objects that are due, oldest first, and fairly among buckets when
// more is due than a batch. Its cost depends on what expires: it reads the indexes
// of due times and no live rows.
type Expire struct {
	Ledger ExpireLedger
	Batch  ledger.Batch
	Drop   Drop
	Events *Events
	Lock   ClaimLock  // of batches
	Plans  PlanLedger // of plans only
	Rounds RestartInterval
	// Controller decides the size of batches.
	Controller *throttle.Controller

	ring cursor
}

// Name returns "expire".
func (*Expire) Name() string { return "expire" }

// Plan counts the objects that are due.
func (e *Expire) Plan(ctx context.Context) (ledger.Backlog, error) {
	return e.Ledger.ExpireBacklog(ctx)
}

// Pass releases what is not held any more, checks the deletion limits ahead, and
// begins at the oldest due object. Each step is one transaction. After Rounds.Time
// it begins anew.
func (e *Expire) Pass(string) Step { return e.Rounds.of(e.round) }

func (e *Expire) round() Step {
	due := sweep(sized(e.fair(), e.Controller), e.Batch, func(ctx context.Context, r ledger.Reclaimed) {
		drop(ctx, e.Drop, r.Dropped)
		e.Events.reclaimed(lethe.ReasonExpiry, r)
		e.Events.stopped(r.Stopped)
	})
	return unlessBehind(e.Ledger, inSequence(e.unpark, e.foresee, due))
}

// fair schedules the buckets fairly when more is due than a batch.
func (e *Expire) fair() reclaimer {
	var t fairScheduler
	return func(ctx context.Context, b ledger.Batch) (out ledger.Reclaimed, err error) {
		if b.Turns, err = t.look(ctx, e.Ledger, &e.ring, ""); err != nil {
			return out, err
		}
		ended := e.Controller.Time(throttle.Database, "expire")
		if out, err = e.batch(ctx, b); err != nil {
			return out, err
		}
		ended(out.Objects)
		if len(b.Turns) > 0 {
			out.More = true // only a batch of the oldest shows that nothing is left
		} else {
			t.oldest(out.More)
		}
		return out, nil
	}
}

// batch expires one batch, under the lock.
func (e *Expire) batch(ctx context.Context, b ledger.Batch) (ledger.Reclaimed, error) {
	return locked(e.Lock, "expire", e.Ledger.Expire)(ctx, b)
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
func sweep(batch reclaimer, b ledger.Batch, done func(context.Context, ledger.Reclaimed)) Step {
	return func(ctx context.Context, c *Counts) (bool, error) {
		r, err := batch(ctx, b)
		if err != nil {
			return false, fmt.Errorf("reclaim: batch from due %s: %w", b.After, err)
		}
		b.After = r.LastDue
		countReclaimed(c, r)
		done(ctx, r)
		return r.More, nil
	}
}

func countReclaimed(c *Counts, r ledger.Reclaimed) {
	c.Add(Items, int64(r.Objects))
	c.Add("objects", int64(r.Objects))
	c.Add("by_rules", int64(r.ByRules()))
	c.Add("restamped", int64(r.Restamped))
	c.Add("bytes", r.Bytes)
	c.Add("condemned", int64(r.Blobs))
	c.Add("condemned_bytes", r.BlobBytes)
}

func drop(ctx context.Context, d Drop, contents []lethe.ID) {
	if d != nil && len(contents) > 0 {
		d(ctx, contents)
	}
}
