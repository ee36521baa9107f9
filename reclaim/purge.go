package reclaim

import (
	"context"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/throttle"
)

// Purge removes trash entries whose undo window has passed, prunes old records, and
// shrinks the ledger's file.
type Purge struct {
	Ledger PurgeLedger
	Batch  ledger.Batch
	Drop   Drop
	Events *Events
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
func (p *Purge) Pass(string) Step { return p.Rounds.of(p.round) }

func (p *Purge) round() Step {
	trash := sweep(sized(p.batch, p.Controller), p.Batch, func(ctx context.Context, r ledger.Reclaimed) {
		drop(ctx, p.Drop, r.Dropped)
		p.Events.reclaimed(lethe.ReasonPurge, r)
		p.Events.stopped(r.Stopped)
	})
	return inSequence(p.prune, p.shrink, unlessBehind(p.Ledger, trash))
}

// batch purges one batch, under the lock.
func (p *Purge) batch(ctx context.Context, b ledger.Batch) (ledger.Reclaimed, error) {
	return locked(p.Lock, "purge", p.Ledger.Purge)(ctx, b)
}

func (p *Purge) prune(ctx context.Context, c *Counts) (bool, error) {
	limit := p.Controller.Size(p.Batch.Limit)
	n, err := p.Ledger.Prune(ctx, limit)
	if err != nil {
		return false, fmt.Errorf("reclaim: prune: %w", err)
	}
	c.Add("pruned", int64(n))
	return limit > 0 && n >= limit, nil
}

// shrinking is a ledger whose file can be made smaller.
type shrinking interface {
	// Vacuum returns up to so many unused pages to the disk. A ledger without a
	// file of its own returns errors.ErrUnsupported.
	Vacuum(ctx context.Context, pages int) (freed int, err error)
}

// shrinkStep is how many pages of the ledger's file a step frees at full speed.
const shrinkStep = 1024

// shrink frees what the ledger's file, if there is one, does not need.
func (p *Purge) shrink(ctx context.Context, c *Counts) (bool, error) {
	file, ok := p.Ledger.(shrinking)
	if !ok {
		return false, nil
	}
	pages := p.Controller.Size(shrinkStep)
	n, err := file.Vacuum(ctx, pages)
	if errors.Is(err, errors.ErrUnsupported) {
		return false, nil // PostgreSQL manages its files itself
	}
	c.Add("pages", int64(n))
	if err != nil {
		return false, fmt.Errorf("reclaim: shrink the ledger: %w", err)
	}
	return n >= pages, nil
}
