package adoption

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/sqladopt"
	"github.com/lethe-storage/lethe/reclaim"
)

// troubleRows returns the record of what is wrong in a collection; nil if its
// kind has none.
func (a *Adoption) troubleRows(name string) adopt.TroubleRows {
	switch {
	case a.keys[name] != nil:
		return a.keys[name].Troubles()
	case a.collections[name] != nil:
		return a.collections[name].Troubles()
	}
	return nil
}

// troubles counts what is wrong in a collection. For keys the last successful
// comparison has counted what is missing.
func (a *Adoption) troubles(ctx context.Context, name string, compared map[string]int64) (out adopt.Troubles, err error) {
	if rows := a.troubleRows(name); rows != nil {
		if out, err = rows.Troubles(ctx); err != nil {
			return out, err
		}
	}
	out.Missing = max(out.Missing, compared["missing"])
	return out, nil
}

// nearing counts what is deleted of a collection for good within a day, or
// within half the retention if that is shorter.
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

// reviews returns the routine that checks again what is wrong, where something
// may be recorded; at most one instance runs it at a time.
func (a *Adoption) reviews(ctx context.Context, name string) ([]reclaim.Scheduled, error) {
	c := a.Description.Collections[name]
	if a.troubleRows(name) == nil || a.keys[name] != nil && c.Quarantine == nil || a.keys[name] == nil && !c.HasObjects() {
		return nil, nil
	}
	store, err := a.bucket(ctx, name)
	if err != nil {
		return nil, err
	}
	r := &adopt.Review{Collection: name, Prefix: c.Prefix, Rows: a.troubleRows(name), Store: store, Batch: defaultBatch}
	return []reclaim.Scheduled{{Routine: borrow(name, r), Timetable: every(looksEvery(reviewEvery)), Workers: 1, Solo: true, Rest: reviewEvery}}, nil
}

// reviewed checks again what is wrong in collections that only report and for
// which a plan was applied: no other run may ever do it.
func (a *Adoption) reviewed(ctx context.Context, does []string) error {
	seen := map[string]bool{}
	for _, do := range does {
		_, name, _ := strings.Cut(do, " ")
		if seen[name] || a.reclaims(name) {
			continue
		}
		seen[name] = true
		reviews, err := a.reviews(ctx, name)
		if err != nil {
			return err
		}
		for _, r := range reviews {
			r.Rest = 0
			if _, err := a.Loop.With(r).Once(ctx, nil); err != nil {
				return fmt.Errorf("look again at what is wrong in %s: %w", name, err)
			}
		}
	}
	return nil
}
