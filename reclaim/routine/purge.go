package routine

import (
	"context"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/plan"
	"github.com/lethe-storage/lethe/reclaim/predict"
	"github.com/lethe-storage/lethe/reclaim/throttle"
)

// PurgeLedger empties the trash and drops records whose time is over.
type PurgeLedger interface {
	AgeLedger
	// Purge removes up to a batch of trash entries that are due.
	Purge(ctx context.Context, b ledger.Batch) (ledger.Reclaimed, error)
	PurgeBacklog(ctx context.Context) (ledger.Backlog, error)
	// Prune drops operation outcomes older than OpsKept, finished runs beyond the
	// last 1,000 of each routine, and empty nameless buckets, up to limit rows. It
	// returns how many it dropped.
	Prune(ctx context.Context, limit int) (int, error)
}

// Purge removes trash entries whose undo window has passed, prunes old records, and
// shrinks the ledger's file.
type Purge struct {
	Ledger PurgeLedger
	Batch  ledger.Batch
	Drop   Drop
	Events *reclaim.Events
	Lock   ClaimLock  // of batches
	Plans  PlanLedger // of plans only
	Rounds RestartInterval
	// Controller decides the size of batches.
	Controller *throttle.Controller
}

// Name returns "purge".
func (*Purge) Name() string { return "purge" }

// Plan counts the trash entries that are due.
func (p *Purge) Plan(ctx context.Context) (ledger.Backlog, error) {
	return p.Ledger.PurgeBacklog(ctx)
}

// Pass prunes, returns unused space of the ledger's file to the disk, and removes
// due entries batch by batch. After Rounds.Time it begins anew.
func (p *Purge) Pass(string) reclaim.Step { return p.Rounds.of(p.round) }

func (p *Purge) round() reclaim.Step {
	trash := sweep(sized(p.batch, p.Controller), p.Batch, func(ctx context.Context, r ledger.Reclaimed) {
		drop(ctx, p.Drop, r.Dropped)
		p.Events.EmitReclaimed(lethe.ReasonPurge, r)
		p.Events.EmitTripped(r.Tripped)
	})
	return inSequence(p.prune, p.sweepDigests(), p.shrink, unlessBehind(p.Ledger, trash))
}

// batch purges one batch, under the lock.
func (p *Purge) batch(ctx context.Context, b ledger.Batch) (ledger.Reclaimed, error) {
	return locked(p.Lock, "purge", p.Ledger.Purge)(ctx, b)
}

func (p *Purge) prune(ctx context.Context, add reclaim.Add) (bool, error) {
	limit := p.Controller.Size(p.Batch.Limit)
	n, err := p.Ledger.Prune(ctx, limit)
	if err != nil {
		return false, fmt.Errorf("reclaim: prune: %w", err)
	}
	add("pruned", int64(n))
	return limit > 0 && n >= limit, nil
}

// shrinking is a ledger whose file can be made smaller.
type shrinking interface {
	// Vacuum returns up to so many unused pages to the disk. A ledger without a
	// file of its own returns errors.ErrUnsupported.
	Vacuum(ctx context.Context, pages int) (freed int, err error)
}

// digestSweeping is a ledger whose index of contents by digest outlives them.
type digestSweeping interface {
	// SweepDigests looks at up to limit rows from a place on ("": anywhere), and removes
	// those of ended contents if they are many. It returns where to go on, "" if few are
	// left. A ledger whose database does so itself returns errors.ErrUnsupported.
	SweepDigests(ctx context.Context, from string, limit int) (next string, n int, err error)
}

// sweepDigests returns a step that removes what is left of ended contents.
func (p *Purge) sweepDigests() reclaim.Step {
	at := ""
	return func(ctx context.Context, add reclaim.Add) (bool, error) {
		of, ok := p.Ledger.(digestSweeping)
		if !ok {
			return false, nil
		}
		next, n, err := of.SweepDigests(ctx, at, p.Controller.Size(p.Batch.Limit))
		if errors.Is(err, errors.ErrUnsupported) {
			return false, nil
		}
		add("pruned", int64(n))
		if err != nil {
			return false, fmt.Errorf("reclaim: sweep digests: %w", err)
		}
		at = next
		return at != "", nil
	}
}

// shrinkStep is how many pages of the ledger's file a step frees at full speed.
const shrinkStep = 1024

// shrink frees what the ledger's file, if there is one, does not need.
func (p *Purge) shrink(ctx context.Context, add reclaim.Add) (bool, error) {
	file, ok := p.Ledger.(shrinking)
	if !ok {
		return false, nil
	}
	pages := p.Controller.Size(shrinkStep)
	n, err := file.Vacuum(ctx, pages)
	if errors.Is(err, errors.ErrUnsupported) {
		return false, nil // PostgreSQL manages its files itself
	}
	add("pages", int64(n))
	if err != nil {
		return false, fmt.Errorf("reclaim: shrink the ledger: %w", err)
	}
	return n >= pages, nil
}

// HasBacklog implements reclaim.Backlogged.
func (p *Purge) HasBacklog(ctx context.Context) (bool, error) { return hasDue(ctx, p.Plans, dueEntry) }

// Items are the trash entries that are due, with those that a hold or a limit keeps.
func (p *Purge) Items(ctx context.Context, yield func(plan.Item) error) error {
	of := predict.Predictor{Ledger: p.Plans, Limits: p.Batch.Limits, Batch: p.Batch.Limit, Doubt: predict.Doubt(p.Ledger)}
	return of.Trash(ctx, 0, func(d predict.Due) error { return yield(dueItem(p.Name(), kindTrash, d)) })
}

// Apply removes the entries that are still there, and due.
func (p *Purge) Apply(ctx context.Context, _ string, items []plan.Item, add reclaim.Add) ([]plan.Result, error) {
	a := applied(items)
	err := unlessDoubted(ctx, p.Ledger, func(ctx context.Context) error {
		return a.reclaim(ctx, sized(p.batch, p.Controller), p.Batch, func(r ledger.Reclaimed) {
			countReclaimed(add, r)
			drop(ctx, p.Drop, r.Dropped)
			p.Events.EmitReclaimed(lethe.ReasonPurge, r)
		})
	})
	for _, n := range a.left {
		if err == nil {
			a.result(n, plan.Gone, "it was restored or purged, or deferred for a hold")
		}
	}
	return a.out, err
}
