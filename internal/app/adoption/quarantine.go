package adoption

import (
	"cmp"
	"context"
	"fmt"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/sqladopt"
	"github.com/lethe-storage/lethe/blob/s3blob"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/reclaim"
)

// copiesAtOnce is the number of objects moved, or checked, concurrently.
const copiesAtOnce = 16

// moved returns the record of a collection's moved objects; nil if its kind
// moves none.
func (a *Adoption) moved(name string) *sqladopt.Quarantine {
	switch {
	case a.keys[name] != nil:
		return a.keys[name].Quarantine()
	case a.collections[name] != nil && a.Description.Collections[name].Contents != nil:
		return a.collections[name].Quarantine()
	}
	return nil
}

// Quarantine returns the quarantine of a collection in any mode.
func (a *Adoption) Quarantine(ctx context.Context, name string) (*adopt.Quarantine, error) {
	if err := a.Unusable[name]; err != nil {
		return nil, err
	}
	c := a.Description.Collections[name]
	if c.Quarantine == nil {
		return nil, fmt.Errorf("collection %q has no quarantine", name)
	}
	objects, err := a.guarded(ctx, name, c.Prefix)
	if err != nil {
		return nil, err
	}
	copies, err := a.guarded(ctx, name, c.Quarantine.Prefix)
	if err != nil {
		return nil, err
	}
	q := &adopt.Quarantine{
		Collection: name, Prefix: c.Prefix, Into: c.Quarantine.Prefix, Rows: a.moved(name), Objects: objects, Copies: copies,
		Grace: c.Graces(), Retention: c.Quarantine.Keeps(), Batch: cmp.Or(c.Batch, defaultBatch), AtOnce: copiesAtOnce,
		Boot: a.o.Boot, Events: a.adoptEvents(),
	}
	if keys := a.keys[name]; keys != nil {
		q.Enough = func(ctx context.Context) error {
			rows, last, err := keys.Living(ctx, c.Prefix)
			if err != nil {
				return err
			}
			return c.Keys.Rules().Enough(rows, last)
		}
	}
	return q, nil
}

// remover returns the Deleter of a collection's whole keys, which may move
// objects instead.
func (a *Adoption) remover(ctx context.Context, name string) (adopt.Deleter, error) {
	c := a.Description.Collections[name]
	bucket, err := a.guarded(ctx, name, c.Prefix)
	if err != nil {
		return nil, err
	}
	if c.Rows.OwnFolders() {
		return adopt.Emptier{Prefix: c.Prefix, Store: bucket, Page: defaultBatch, AtOnce: copiesAtOnce}, nil
	}
	var remover adopt.Deleter = adopt.Within{Prefix: c.Prefix, Store: bucket}
	if c.Quarantine != nil {
		if remover, err = a.Quarantine(ctx, name); err != nil {
			return nil, err
		}
	}
	if age := c.Graces().ObjectAge; age > 0 {
		return adopt.Aged{Bucket: remover, Prefix: c.Prefix, Objects: bucket, Age: age, Clock: a.o.Clock, AtOnce: copiesAtOnce}, nil
	}
	return remover, nil
}

// quarantineRoutines returns the one that restores and purges; at most one
// instance runs it at a time.
func (a *Adoption) quarantineRoutines(ctx context.Context, name string) ([]reclaim.Scheduled, error) {
	if a.Description.Collections[name].Quarantine == nil {
		return nil, nil
	}
	q, err := a.Quarantine(ctx, name)
	if err != nil {
		return nil, err
	}
	a.quarantines[name] = q
	return []reclaim.Scheduled{{Routine: borrow(name, q), Timetable: every(looksEvery(cleanEvery)), Workers: 1, Solo: true, Rest: cleanEvery}}, nil
}

// quarantined counts the objects of a collection that are in quarantine.
func (a *Adoption) quarantined(ctx context.Context, name string) (adopt.Backlog, error) {
	rows := a.moved(name)
	if rows == nil {
		return adopt.Backlog{}, nil
	}
	return rows.InQuarantine(ctx)
}

// checkQuarantine probes the place of copies, and checks that no objects are in
// a quarantine that is not described any more.
func (a *Adoption) checkQuarantine(ctx context.Context, name string) ([]adopt.Finding, error) {
	c := a.Description.Collections[name]
	if c.Quarantine != nil {
		store, err := a.below(ctx, name, c.Quarantine.Prefix)
		if err != nil {
			return nil, err
		}
		if err := store.Probe(ctx); err != nil {
			return []adopt.Finding{{Problem: true, What: "quarantine: " + err.Error(), Do: "let the access key read, write and delete below " + c.Quarantine.Prefix}}, ctx.Err()
		}
		if _, why := unfit(store); why != "" {
			return []adopt.Finding{{Problem: true, What: "bucket " + c.Bucket + ": " + why, Do: "nothing could be moved into quarantine"}}, nil
		}
		return a.checkTags(ctx, name, store)
	}
	installed, err := a.DB.Installed(ctx)
	if err != nil || !installed {
		return nil, err
	}
	held, err := a.quarantined(ctx, name)
	if err != nil || held.Due == 0 {
		return nil, err
	}
	return []adopt.Finding{{Problem: true, What: words.Plural(held.Due, "object is", "objects are") + " in quarantine, and none is described: nothing copies back",
		Do: "describe it as it was, until it is empty"}}, nil
}

// checkTags checks that tags of objects and copies may be read: an object with
// unreadable tags is not moved.
func (a *Adoption) checkTags(ctx context.Context, name string, copies bucket) ([]adopt.Finding, error) {
	objects, err := a.bucket(ctx, name)
	if err != nil {
		return nil, err
	}
	for _, store := range []bucket{objects, copies} {
		s, ok := untraced(store).(*s3blob.Store)
		if !ok {
			continue
		}
		if err := s.Tags(ctx); err != nil {
			return []adopt.Finding{{Problem: true, What: "quarantine: " + err.Error(), Do: "nothing could be moved into quarantine without losing its tags"}}, ctx.Err()
		}
	}
	return nil, nil
}

// nothingMoved returns an error while objects are in quarantine, or copies in
// parts cannot be aborted: they would be forgotten. Some collections are not looked at.
func (a *Adoption) nothingMoved(ctx context.Context, except map[string]error) error {
	installed, err := a.DB.Installed(ctx)
	if err != nil || !installed {
		return err
	}
	for _, name := range a.Description.Names() {
		if except[name] != nil {
			continue
		}
		held, err := a.quarantined(ctx, name)
		if err != nil {
			return err
		}
		if held.Due > 0 {
			return fmt.Errorf("the quarantine of %s has %s, which would be forgotten: restore or purge, with \"lethe adopt quarantine\"", name, words.Plural(held.Due, "object", "objects"))
		}
		if a.Description.Collections[name].Quarantine == nil {
			continue
		}
		q, err := a.Quarantine(ctx, name)
		if err != nil {
			return err
		}
		left, err := q.Abort(ctx)
		if err == nil && left > 0 {
			err = fmt.Errorf("%s of %s cannot be aborted, and would be forgotten: the log of \"lethe adopt run\" has the reason", words.Plural(int64(left), "unfinished copy", "unfinished copies"), name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
