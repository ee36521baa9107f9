package adoption

import (
	"context"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/sqladopt"
	"github.com/lethe-storage/lethe/reclaim"
)

// troubleRows returns the record of what is wrong in a collection; nil if it is of a kind
// that has none.
func (a *Adoption) troubleRows(name string) adopt.TroubleRows {
	switch {
	case a.keys[name] != nil:
		return a.keys[name].Troubles()
	case a.collections[name] != nil:
		return a.collections[name].Troubles()
	}
	return nil
}

// troubles counts what is wrong in a collection. Of keys the last comparison with the
// bucket that succeeded has counted what is missing.
func (a *Adoption) troubles(ctx context.Context, name string, compared map[string]int64) (out adopt.Troubles, err error) {
	if rows := a.troubleRows(name); rows != nil {
		if out, err = rows.Troubles(ctx); err != nil {
			return out, err
		}
	}
	out.Missing = max(out.Missing, compared["missing"])
	return out, nil
}

// nearing counts what of a collection is deleted for good within a day, or within half
// the retention if that is shorter.
func (a *Adoption) nearing(ctx context.Context, name string) (sqladopt.Nearing, error) {
	c := a.Description.Collections[name]
	within := func(retention time.Duration) time.Duration { return min(24*time.Hour, retention/2) }
	moved := a.moved(name)
	switch {
	case c.Quarantine != nil && moved != nil:
		return moved.Nearing(ctx, within(c.Quarantine.Keeps()))
	case a.folders[name] != nil:
		r := c.Folders.Rules().Retention
		return a.folders[name].Nearing(ctx, r, within(r))
	case a.keys[name] != nil:
		r := c.Keys.Rules().Retention
		return a.keys[name].Nearing(ctx, r, within(r))
	}
	return sqladopt.Nearing{}, nil
}

// review is the routine that looks again at what is wrong; of all instances one runs it
// at a time.
func (a *Adoption) review(ctx context.Context, name string) (reclaim.Scheduled, error) {
	store, err := a.bucket(ctx, name)
	if err != nil {
		return reclaim.Scheduled{}, err
	}
	r := &adopt.Review{Collection: name, Prefix: a.Description.Collections[name].Prefix, Rows: a.troubleRows(name), Store: store, Batch: defaultBatch}
	return reclaim.Scheduled{Routine: borrow(name, r), Timetable: every(looksEvery(reviewEvery)), Workers: 1, Solo: true, Rest: reviewEvery}, nil
}
