package reclaim

import (
	"context"
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// Backlogged is a routine that can report whether something is due now, by reads whose
// cost does not grow with how much is due.
type Backlogged interface {
	Routine
	HasBacklog(ctx context.Context) (bool, error)
}

// leaves reports whether a run that ended for its limit left something. A full last
// batch only shows that there may be more. What holds keep does not count: it is
// deferred when a pass comes to it.
func (l *Loop) leaves(ctx context.Context, s Scheduled, run *recorder) error {
	if !run.atLimit.Load() || ctx.Err() != nil {
		return nil
	}
	if r, ok := s.Routine.(Backlogged); ok {
		if left, err := r.HasBacklog(ctx); err != nil || !left {
			return err
		}
	}
	run.counts.Add(Limited, 1)
	return nil
}

// HasBacklog implements Leaver.
func (e *Expire) HasBacklog(ctx context.Context) (bool, error) {
	return hasDue(ctx, e.Plans, dueObject)
}

// HasBacklog implements Leaver.
func (p *Purge) HasBacklog(ctx context.Context) (bool, error) { return hasDue(ctx, p.Plans, dueEntry) }

// HasBacklog implements Leaver.
func (k *Clean) HasBacklog(ctx context.Context) (bool, error) {
	for _, id := range k.backends() {
		left, err := hasDue(ctx, k.Plans, blobOf(ledger.DueQuery{State: lethe.Condemned, Backend: id, Limit: 1}))
		if left || err != nil {
			return left, err
		}
	}
	return false, nil
}

// HasBacklog implements Leaver.
func (r *Reap) HasBacklog(ctx context.Context) (bool, error) {
	return hasDue(ctx, r.Plans, blobOf(ledger.DueQuery{State: lethe.Pending, MinAge: r.Safety.MinAge, Limit: 1}))
}

// HasBacklog implements Leaver.
func (u *Uploads) HasBacklog(ctx context.Context) (bool, error) {
	return anyUpload(u.Ledger.StaleUploads(ctx, ledger.OverdueQuery{Stale: u.stale(), Limit: 1}))
}

// HasBacklog implements Leaver.
func (l *Lifecycle) HasBacklog(ctx context.Context) (bool, error) {
	return anyUpload(l.Ledger.RuledUploads(ctx, ledger.OverdueQuery{Limit: 1}))
}

// hasDue asks a ledger that can report what is due. For others something may always
// be due.
func hasDue(ctx context.Context, l PlanLedger, due func(context.Context, PlanLedger) (bool, error)) (bool, error) {
	if l == nil {
		return true, nil
	}
	left, err := due(ctx, l)
	if err != nil {
		return false, fmt.Errorf("reclaim: whether more is due: %w", err)
	}
	return left, nil
}

const (
	// duePage is how many due rows are read at once to find one that counts. Rows
	// under holds, or whose rules have to be reapplied, do not.
	duePage = 100
	// duePages bounds how many pages are read. So many that do not count are taken
	// for a sign that more is left; the next run finds out.
	duePages = 20
)

func dueObject(ctx context.Context, l PlanLedger) (bool, error) { return anyDue(ctx, l.DueObjects) }

func dueEntry(ctx context.Context, l PlanLedger) (bool, error) { return anyDue(ctx, l.DueTrash) }

func anyDue(ctx context.Context, page func(context.Context, ledger.DueQuery) (ledger.DuePage, error)) (bool, error) {
	q := ledger.DueQuery{Limit: duePage}
	for range duePages {
		p, err := page(ctx, q)
		counts := slices.ContainsFunc(p.Rows, func(d ledger.Due) bool { return !d.Held })
		if err != nil || counts || !p.More {
			return counts, err
		}
		q.After = p.Next
	}
	return true, nil
}

func blobOf(q ledger.DueQuery) func(context.Context, PlanLedger) (bool, error) {
	return func(ctx context.Context, l PlanLedger) (bool, error) {
		list, err := l.DueBlobs(ctx, q)
		return len(list) > 0, err
	}
}

func anyUpload(list []ledger.OverdueUpload, err error) (bool, error) {
	if err != nil {
		return false, fmt.Errorf("reclaim: whether more is due: %w", err)
	}
	return len(list) > 0, nil
}

var _ = []Backlogged{(*Expire)(nil), (*Purge)(nil), (*Clean)(nil), (*Reap)(nil), (*Uploads)(nil), (*Lifecycle)(nil)}
