package routine

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/plan"
	"github.com/lethe-storage/lethe/reclaim/predict"
	"github.com/lethe-storage/lethe/reclaim/throttle"
)

// ExpireLedger removes objects past their time.
type ExpireLedger interface {
	AgeLedger
	FairLedger
	// Expire removes up to a batch of due objects, oldest first or of the given
	// buckets, in one transaction: it deletes rows, counts references down, drops
	// contents without references, condemns their blobs and moves the counters. The
	// blobs died when the last of their references was due. A batch ends before the
	// row that would condemn more than MaxBlobs, but takes one row at least.
	Expire(ctx context.Context, b ledger.Batch) (ledger.Reclaimed, error)
	ExpireBacklog(ctx context.Context) (ledger.Backlog, error)
	// PrecheckLimits trips the limits beyond which something is due, before the first
	// of it is removed, and returns those.
	PrecheckLimits(ctx context.Context, l ledger.Limits) ([]ledger.LimitState, error)
	// ReturnDeferred returns up to limit deferred rows to their due index: those of a
	// hold that was released, or of a limit that allows them now.
	ReturnDeferred(ctx context.Context, limit int) (ledger.ReturnedRows, error)
}

// Expire removes objects that are due, oldest first, and fairly among buckets when
// more is due than a batch. Its cost depends on what expires: it reads the indexes
// of due times and no live rows.
type Expire struct {
	Ledger ExpireLedger
	Batch  ledger.Batch
	Drop   Drop
	Events *reclaim.Events
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
func (e *Expire) Pass(string) reclaim.Step { return e.Rounds.of(e.round) }

func (e *Expire) round() reclaim.Step {
	due := sweep(sized(e.fair(), e.Controller), e.Batch, func(ctx context.Context, r ledger.Reclaimed) {
		drop(ctx, e.Drop, r.Dropped)
		e.Events.EmitReclaimed(lethe.ReasonExpiry, r)
		e.Events.EmitTripped(r.Tripped)
	})
	return unlessBehind(e.Ledger, inSequence(e.returnDeferred, e.precheck, due))
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

// returnDeferred returns what a hold or a limit deferred, once that is over.
func (e *Expire) returnDeferred(ctx context.Context, add reclaim.Add) (bool, error) {
	u, err := e.Ledger.ReturnDeferred(ctx, e.Controller.Size(e.Batch.Limit))
	if err != nil {
		return false, fmt.Errorf("reclaim: return what was deferred: %w", err)
	}
	add("returned", int64(u.Returned))
	return u.More, nil
}

// precheck trips limits before the first object goes.
func (e *Expire) precheck(ctx context.Context, add reclaim.Add) (bool, error) {
	if l := e.Batch.Limits; !l.Rules.On() && !l.TTL.On() {
		return false, nil
	}
	tripped, err := e.Ledger.PrecheckLimits(ctx, e.Batch.Limits)
	if err != nil {
		return false, fmt.Errorf("reclaim: check the deletion limits ahead: %w", err)
	}
	e.Events.EmitTripped(tripped)
	add("tripped", int64(len(tripped)))
	return false, nil
}

// HasBacklog implements reclaim.Backlogged.
func (e *Expire) HasBacklog(ctx context.Context) (bool, error) {
	return hasDue(ctx, e.Plans, dueObject)
}

// Items are the objects that are due, with those that a hold or a limit keeps.
func (e *Expire) Items(ctx context.Context, yield func(plan.Item) error) error {
	p := predict.Predictor{Ledger: e.Plans, Limits: e.Batch.Limits, Doubt: predict.Doubt(e.Ledger)}
	return p.Objects(ctx, 0, func(d predict.Due) error { return yield(dueItem(e.Name(), kindObject, d)) })
}

// Apply removes the objects that still have the version that was seen, and are due. The
// deletion limits are checked ahead, as in a pass.
func (e *Expire) Apply(ctx context.Context, _ string, items []plan.Item, add reclaim.Add) ([]plan.Result, error) {
	a := applied(items)
	err := unlessDoubted(ctx, e.Ledger, func(ctx context.Context) error {
		if _, err := e.precheck(ctx, add); err != nil {
			return err
		}
		return a.reclaim(ctx, sized(e.batch, e.Controller), e.Batch, func(r ledger.Reclaimed) {
			countReclaimed(add, r)
			drop(ctx, e.Drop, r.Dropped)
			e.Events.EmitReclaimed(lethe.ReasonExpiry, r)
		})
	})
	if err != nil || len(a.left) == 0 {
		return a.out, err
	}
	now, err := e.Plans.ObjectsNamed(ctx, a.left)
	a.spare(now)
	return a.out, err
}
