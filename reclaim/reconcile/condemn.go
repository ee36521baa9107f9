package reconcile

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
)

// condemn returns a step that condemns the ripe orphans, batch by batch, once
// everything was compared, and then finishes the walk.
func (w *walk) condemn() func(context.Context, reclaim.Add) (bool, error) {
	after := ""
	return func(ctx context.Context, add reclaim.Add) (bool, error) {
		if w.o.DryRun {
			return w.precheck(ctx, add)
		}
		row, err := w.o.row(ctx, w.backend)
		if err != nil {
			return false, err
		}
		may, err := w.mayCondemn(ctx, add)
		if err != nil {
			return false, err
		}
		left := int64(w.o.MostOrphans) - w.counts.Get(Condemned)
		if !may || left <= 0 {
			return w.finish(ctx, add)
		}
		out, err := w.o.Ledger.CondemnOrphans(ctx, ledger.OrphanRequest{
			Walk: w.row.ID, Backend: w.backend, Epoch: row.Epoch, Grace: w.o.Grace, After: after, Limit: int(min(left, int64(w.o.Page))), Only: w.chosen(),
		})
		if err != nil {
			return false, err
		}
		if out.Seen == 0 {
			return w.finish(ctx, add)
		}
		after = out.Last
		w.freed(add, out.Blobs)
		w.o.Events.condemned(w.backend, out.Blobs)
		w.did(orphansOf(w.o.Store, out.Blobs)...)
		return true, w.o.Ledger.SaveWalk(ctx, ledger.WalkStep{ID: w.row.ID, From: w.row.Place, To: w.row.Place, Counts: w.counts.Map()})
	}
}

func (w *walk) freed(add reclaim.Add, blobs []ledger.Blob) {
	w.tally(add, Condemned, int64(len(blobs)))
	for _, b := range blobs {
		w.tally(add, Freed, b.Size)
	}
}

// mayCondemn reports whether orphans may be condemned at all: the pairing holds,
// and their share is plausible.
func (w *walk) mayCondemn(ctx context.Context, add reclaim.Add) (bool, error) {
	orphans, keys := w.counts.Get(Orphans), w.counts.Get(Keys)
	if orphans == 0 {
		return false, nil
	}
	why, err := w.trust(ctx)
	if err != nil {
		return false, err
	}
	if why == "" && orphans > fewOrphans && float64(orphans) > w.o.MostShare*float64(keys) {
		why = fmt.Sprintf("%d of %d keys have no row, which is implausibly many: is this an older copy of the ledger? "+
			"If not, raise reclaim.orphans.most_share", orphans, keys)
	}
	if why == "" {
		why, err = w.misses(ctx)
	}
	if why == "" || err != nil {
		return err == nil, err
	}
	w.tally(add, HeldBack, orphans)
	if !w.o.DryRun {
		w.o.Events.heldBack(w.backend, orphans, why)
	}
	return false, nil
}

// misses returns why orphans may be bytes that the ledger misses: a restored one names those that
// were moved to another backend since as they lay there before.
func (w *walk) misses(ctx context.Context) (why string, err error) {
	if w.o.Misses == nil {
		return "", nil
	}
	if why, err = w.o.Misses(ctx); why != "" {
		why = "orphans may be bytes that were moved to this backend after the backup: " + why
	}
	return why, err
}

// row is the backend's row, read before the pairing is checked: orphans are
// condemned only under an epoch that was checked.
func (o Options) row(ctx context.Context, backend string) (ledger.Backend, error) {
	backends, err := o.Ledger.Backends(ctx)
	if err != nil {
		return ledger.Backend{}, err
	}
	for _, b := range backends {
		if b.ID == backend {
			return b, nil
		}
	}
	return ledger.Backend{}, fmt.Errorf("%w: the ledger does not know it", lethe.ErrBackendMismatch)
}

// ripen reads, for a dry run, which orphans were seen before, long enough ago.
func (w *walk) ripen(ctx context.Context) error {
	w.ripe = map[string]bool{}
	q := ledger.FindingQuery{Backend: w.backend, Kind: ledger.FoundOrphan, Limit: w.o.Page}
	for {
		page, err := w.o.Ledger.Findings(ctx, q)
		if err != nil {
			return err
		}
		for _, f := range page {
			if f.FirstAt <= w.o.Clock.Now().Add(-w.o.Grace) {
				w.ripe[f.Key] = true
			}
		}
		if len(page) < w.o.Page {
			return nil
		}
		q.AfterBackend, q.AfterKey = w.backend, page[len(page)-1].Key
	}
}

// countRipe counts the orphans that a real walk would condemn.
func (w *walk) countRipe(add reclaim.Add, list []ledger.Finding) {
	for _, f := range list {
		id, _ := lethe.ParseBlobKey(w.o.Store, f.Key)
		if !w.ripe[f.Key] || f.Kind != ledger.FoundOrphan || id.Made() > w.o.Clock.Now().Add(-w.o.Grace) {
			continue
		}
		w.tally(add, RipeCount, 1)
		f.Backend = w.backend
		w.report.Lock()
		w.would = append(w.would, Change{Finding: f})
		w.report.Unlock()
	}
}
