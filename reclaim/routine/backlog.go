package routine

import (
	"context"
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
)

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
		q = p.Continue(q)
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

var _ = []reclaim.Backlogged{(*Expire)(nil), (*Purge)(nil), (*Clean)(nil), (*Reap)(nil), (*Uploads)(nil), (*Lifecycle)(nil)}
