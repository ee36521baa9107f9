package reconcile

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
)

// walk is one walk over one backend, or this run's part of it.
type walk struct {
	o       Options
	backend string
	store   blob.Store

	row    ledger.Walk
	next   func(ctx context.Context, add reclaim.Add) (more bool, err error)
	counts *reclaim.Counts // of the whole walk, earlier runs included
	load   loader
	at     chunk
	folded int // folders of the chunk that are done

	report sync.Mutex
	ripe   map[string]bool // of a dry run: orphans seen before, long enough ago
	would  []Change        // of a dry run: those seen again
}

// step does the next part.
func (w *walk) step(ctx context.Context, add reclaim.Add) (bool, error) {
	if w.next == nil {
		return true, w.begin(ctx, add)
	}
	return w.next(ctx, add)
}

func (w *walk) tally(add reclaim.Add, name string, n int64) {
	w.counts.Add(name, n)
	add(name, n)
}

// begin begins the walk, or continues the interrupted one.
func (w *walk) begin(ctx context.Context, _ reclaim.Add) (err error) {
	if w.store == nil {
		return fmt.Errorf("%w: it is not configured", lethe.ErrBackendMismatch)
	}
	if _, err := w.trust(ctx); err != nil {
		return err
	}
	w.row = ledger.Walk{ID: w.o.NewID(), Backend: w.backend}
	if w.o.DryRun {
		err = w.ripen(ctx)
	} else {
		w.row, err = w.o.Ledger.BeginWalk(ctx, ledger.WalkStart{ID: w.row.ID, Backend: w.backend, GiveUp: giveUp})
	}
	for name, n := range w.row.Counts {
		w.counts.Add(name, n)
	}
	w.load = loader{o: &w.o, backend: w.backend}
	w.next = w.read
	if w.row.Place == ledger.WalkDone {
		w.next = w.condemn()
	}
	return err
}

// trust checks the pairing. If it does not hold it returns why, and the walk only
// reports.
func (w *walk) trust(ctx context.Context) (doubt string, err error) {
	err = w.o.Pairing.Check(ctx, w.backend)
	if errors.Is(err, lethe.ErrBackendMismatch) {
		return err.Error(), nil
	}
	return "", err
}

// read reads the next chunk of the ledger.
func (w *walk) read(ctx context.Context, add reclaim.Add) (_ bool, err error) {
	if w.at, err = w.load.load(ctx, w.row.Place); err != nil {
		return false, err
	}
	w.tally(add, Rows, int64(len(w.at.rows)))
	add(reclaim.Items, int64(len(w.at.rows)))
	w.folded, w.next = 0, w.folders
	if w.at.whole() && len(w.at.rows) <= w.o.Small {
		w.next = w.asOne
	}
	return true, nil
}

// asOne compares a small backend in one listing.
func (w *walk) asOne(ctx context.Context, add reclaim.Add) (bool, error) {
	if err := w.one(ctx, add, span{rows: w.at.rows}); err != nil {
		return false, err
	}
	return true, w.save(ctx, w.condemn())
}

// folders compares the next few folders of the chunk, side by side.
func (w *walk) folders(ctx context.Context, add reclaim.Add) (bool, error) {
	first := w.folded
	w.folded = min(first+w.o.Parallel, folders)
	errs := make([]error, w.folded-first)
	if len(errs) == 1 {
		errs[0] = w.one(ctx, add, w.folder(&w.at, first))
	} else {
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { errs[i] = w.one(ctx, add, w.folder(&w.at, first+i)) })
		}
		wg.Wait()
	}
	if err := errors.Join(errs...); err != nil || w.folded < folders {
		return true, err
	}
	if w.at.high == ledger.WalkDone {
		w.next = w.rest
		return true, nil
	}
	return true, w.save(ctx, w.read)
}

// rest compares what lies in no folder.
func (w *walk) rest(ctx context.Context, add reclaim.Add) (bool, error) {
	found, err := w.beyond(ctx)
	if err == nil {
		err = w.judge(ctx, add, found)
	}
	if err != nil {
		return false, err
	}
	return true, w.save(ctx, w.condemn())
}

// one compares a span, and checks what differs.
func (w *walk) one(ctx context.Context, add reclaim.Add, s span) error {
	found, err := w.compare(ctx, s)
	if err != nil {
		return err
	}
	return w.judge(ctx, add, found)
}

// save records that the chunk is done, and continues with next.
func (w *walk) save(ctx context.Context, next func(context.Context, reclaim.Add) (bool, error)) error {
	if !w.o.DryRun {
		err := w.o.Ledger.SaveWalk(ctx, ledger.WalkStep{ID: w.row.ID, From: w.row.Place, To: w.at.high, Counts: w.counts.Map()})
		if err != nil {
			return err
		}
	}
	w.row.Place, w.next = w.at.high, next
	return nil
}

// finish ends the walk.
func (w *walk) finish(ctx context.Context, add reclaim.Add) (bool, error) {
	if !w.o.DryRun {
		ended, err := w.o.Ledger.FinishWalk(ctx, ledger.WalkEnd{ID: w.row.ID, Outcome: "ok", Counts: w.counts.Map()})
		if err != nil {
			return false, err
		}
		w.tally(add, Healed, int64(ended.Healed))
		w.o.Events.walked(w.backend, w.counts.Map())
	}
	return false, nil
}
