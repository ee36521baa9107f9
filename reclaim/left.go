package reclaim

import (
	"context"
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// Leaver is a routine that can report whether something is due now, by reads whose
// cost does not grow with how much is due.
type Leaver interface {
	Routine
	Left(ctx context.Context) (bool, error)
}

// leaves reports whether a run that ended for its limit left something. A full last
// batch only shows that there may be more. What holds keep does not count: it is
// deferred when a pass comes to it.
func (l *Loop) leaves(ctx context.Context, s Scheduled, run *recorder) error {
	if !run.atLimit.Load() || ctx.Err() != nil {
		return nil
	}
	if r, ok := s.Routine.(Leaver); ok {
		if left, err := r.Left(ctx); err != nil || !left {
			return err
		}
	}
	run.counts.Add(Limited, 1)
	return nil
}

// Left implements Leaver.
func (e *Expire) Left(ctx context.Context) (bool, error) { return leftOf(ctx, e.Plans, dueObject) }

// Left implements Leaver.
func (p *Purge) Left(ctx context.Context) (bool, error) { return leftOf(ctx, p.Plans, dueEntry) }

// Left implements Leaver.
func (k *Clean) Left(ctx context.Context) (bool, error) {
	for _, id := range k.backends() {
		left, err := leftOf(ctx, k.Plans, blobOf(ledger.DueQuery{State: lethe.Condemned, Backend: id, Limit: 1}))
		if left || err != nil {
			return left, err
		}
	}
	return false, nil
}

// Left implements Leaver.
func (r *Reap) Left(ctx context.Context) (bool, error) {
	return leftOf(ctx, r.Plans, blobOf(ledger.DueQuery{State: lethe.Pending, MinAge: r.Safety.MinAge, Limit: 1}))
}

// Left implements Leaver.
func (u *Uploads) Left(ctx context.Context) (bool, error) {
	return anyUpload(u.Ledger.StaleUploads(ctx, ledger.OverdueQuery{Stale: u.stale(), Limit: 1}))
}

// Left implements Leaver.
func (l *Lifecycle) Left(ctx context.Context) (bool, error) {
	return anyUpload(l.Ledger.RuledUploads(ctx, ledger.OverdueQuery{Limit: 1}))
}

// leftOf asks a ledger that can report what is due. For others something may always
// be due.
func leftOf(ctx context.Context, l PlanLedger, due func(context.Context, PlanLedger) (bool, error)) (bool, error) {
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
	// leftPage is how many due rows are read at once to find one that counts. Rows
	// under holds, or whose rules have to be reapplied, do not.
	leftPage = 100
	// leftPages bounds how many pages are read. So many that do not count are taken
	// for a sign that more is left; the next run finds out.
	leftPages = 20
)

func dueObject(ctx context.Context, l PlanLedger) (bool, error) { return anyDue(ctx, l.DueObjects) }

func dueEntry(ctx context.Context, l PlanLedger) (bool, error) { return anyDue(ctx, l.DueTrash) }

func anyDue(ctx context.Context, page func(context.Context, ledger.DueQuery) (ledger.DuePage, error)) (bool, error) {
	q := ledger.DueQuery{Limit: leftPage}
	for range leftPages {
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

var _ = []Leaver{(*Expire)(nil), (*Purge)(nil), (*Clean)(nil), (*Reap)(nil), (*Uploads)(nil), (*Lifecycle)(nil)}
