package adoption

import (
	"context"
	"fmt"
	"strings"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/sqladopt"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/plan"
	"github.com/lethe-storage/lethe/reclaim/throttle"
)

// kind is what differs between the kinds of collections.
type kind interface {
	plannable
	// backlog returns what waits; installed: Lethe's tables exist.
	backlog(ctx context.Context, installed bool, b *Backlog) error
	// explain returns why something still exists, or when it was deleted.
	explain(ctx context.Context, key string) ([]sqladopt.Fact, error)
	// withdraw undoes what was begun, so that Lethe's tables can be dropped.
	withdraw(ctx context.Context) error
	holder() adopt.Holder
}

// plannable is a kind that has plans.
type plannable interface {
	// items passes what a run would take now to yield.
	items(ctx context.Context, yield func(plan.Item) error) error
	// applied returns the routine with a name, restricted to the items of a
	// plan.
	applied(ctx context.Context, name string, items *itemGroups) (reclaim.Scheduled, error)
}

// kindOf returns a collection by its kind.
func (a *Adoption) kindOf(name string) (kind, error) {
	if err := a.Unusable[name]; err != nil {
		return nil, err
	}
	c, ok := a.Description.Collections[name]
	if !ok {
		return nil, fmt.Errorf("no collection %q is described: there is %s", name, strings.Join(a.Description.Names(), ", "))
	}
	switch c.Kind {
	case adopt.OfFolders:
		return ofFolders{a, name, c, a.folders[name]}, nil
	case adopt.OfKeys:
		return ofKeys{a, name, c, a.keys[name]}, nil
	}
	return ofRecords{a, name, c, a.collections[name]}, nil
}

type ofRecords struct {
	a    *Adoption
	name string
	c    adopt.Collection
	rows *sqladopt.Collection
}

func (k ofRecords) explain(ctx context.Context, key string) ([]sqladopt.Fact, error) {
	return k.rows.Explain(ctx, key)
}

func (k ofRecords) holder() adopt.Holder { return k.rows }

func (k ofRecords) backlog(ctx context.Context, installed bool, b *Backlog) (err error) {
	if b.Rows, err = k.rows.Due(ctx); err == nil && installed && k.c.HasObjects() {
		if b.Contents, err = k.rows.Waiting(ctx); err == nil {
			b.InGrace, err = k.rows.InGrace(ctx)
		}
	}
	return err
}

func (k ofRecords) items(ctx context.Context, yield func(plan.Item) error) error {
	do := "expire " + k.name
	err := k.rows.Ended(ctx, func(p sqladopt.Planned) error { return yield(plannedItem(do, "row", "its end has come", p)) })
	if err != nil || !k.c.Cleans() {
		return err
	}
	return k.rows.Going(ctx, func(p sqladopt.Planned) error {
		i := plannedItem("clean "+k.name, "object", "nothing refers to it", p)
		i.Bucket = k.c.Bucket
		return yield(i)
	})
}

func (k ofRecords) applied(ctx context.Context, name string, items *itemGroups) (reclaim.Scheduled, error) {
	next := func() ([]string, error) { return items.ids(k.c.BatchSize()) }
	s := reclaim.Scheduled{Workers: 1, Most: k.c.Limit, Step: int64(k.c.BatchSize()), Rate: throttle.PerSecond[int](k.c.RatePerSecond, k.c.BatchSize())}
	whole := k.a.expire(k.name, k.rows)
	of := func(keys []string) adoptRoutine { return k.a.expire(k.name, k.rows.Only(keys)) }
	if name != whole.Name() {
		remover, err := k.a.remover(ctx, k.name)
		if err != nil {
			return s, err
		}
		whole = k.a.clean(k.name, k.rows, remover)
		of = func(keys []string) adoptRoutine { return k.a.clean(k.name, k.rows.Only(keys), remover) }
	}
	if name != whole.Name() {
		return s, fmt.Errorf("the plan names the routine %q, which there is none of", name)
	}
	s.Routine = borrow(k.name, chunked{whole, next, of})
	return s, nil
}

func (k ofRecords) withdraw(ctx context.Context) error {
	for k.c.Rows.Status != nil {
		n, err := k.rows.Recover(ctx, 0, defaultBatch)
		if err != nil {
			return err
		}
		if n < defaultBatch {
			break
		}
	}
	if !k.c.HasObjects() {
		return nil
	}
	return k.rows.RemoveGuard(ctx)
}

type ofFolders struct {
	a    *Adoption
	name string
	c    adopt.Collection
	rows *sqladopt.Folders
}

func (k ofFolders) explain(ctx context.Context, key string) ([]sqladopt.Fact, error) {
	return k.rows.Explain(ctx, key, k.c.Folders.Rules().Retention)
}

func (k ofFolders) holder() adopt.Holder { return k.rows }

func (k ofFolders) backlog(ctx context.Context, installed bool, b *Backlog) (err error) {
	if installed {
		b.Folders, err = k.rows.Pending(ctx, k.c.Folders.Rules().Retention)
	}
	return err
}

func (k ofFolders) items(ctx context.Context, yield func(plan.Item) error) error {
	f, err := k.a.Folders(ctx, k.name)
	if err != nil {
		return err
	}
	p, err := f.Report(ctx)
	if err != nil {
		return err
	}
	for _, l := range []struct {
		why   string
		frees bool
		steps []adopt.Step
	}{{"no row names it: it is to be marked", false, p.Mark}, {"it is marked, and its retention is over", true, p.Purge}} {
		for _, s := range l.steps {
			i := plan.Item{Do: f.Name(), Kind: "folder", ID: s.Folder.Name, Bucket: k.c.Bucket, Key: k.c.Prefix + s.Folder.Name + "/", Size: s.Folder.Bytes, Why: l.why}
			if l.frees {
				i.Blobs, i.Frees = s.Folder.Objects, s.Folder.Bytes
			}
			if err := yield(i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k ofFolders) applied(ctx context.Context, _ string, items *itemGroups) (reclaim.Scheduled, error) {
	f, err := k.a.Folders(ctx, k.name)
	if err != nil {
		return reclaim.Scheduled{}, err
	}
	f.Only, err = items.set()
	return reclaim.Scheduled{Routine: borrow(k.name, f), Workers: 1, Solo: true}, err
}

func (k ofFolders) withdraw(ctx context.Context) error {
	f, err := k.a.Folders(ctx, k.name)
	if err != nil {
		return err
	}
	return f.Withdraw(ctx)
}

type ofKeys struct {
	a    *Adoption
	name string
	c    adopt.Collection
	rows *sqladopt.Keys
}

func (k ofKeys) explain(ctx context.Context, key string) ([]sqladopt.Fact, error) {
	return k.rows.Explain(ctx, key, k.c.Keys.Rules().Retention)
}

func (k ofKeys) holder() adopt.Holder { return k.rows }

func (k ofKeys) backlog(ctx context.Context, installed bool, b *Backlog) (err error) {
	if installed {
		b.Orphans, err = k.rows.Known(ctx)
	}
	return err
}

func (k ofKeys) items(ctx context.Context, yield func(plan.Item) error) error {
	return k.rows.Ripe(ctx, k.c.Keys.Rules().Retention, func(p sqladopt.Planned) error {
		i := plannedItem("keys "+k.name, "orphan", "no row names it", p)
		i.Bucket, i.Frees = k.c.Bucket, p.Size
		return yield(i)
	})
}

func (k ofKeys) applied(ctx context.Context, _ string, items *itemGroups) (reclaim.Scheduled, error) {
	r, err := k.a.Keys(ctx, k.name)
	if err != nil {
		return reclaim.Scheduled{}, err
	}
	r.Only, err = items.set()
	return reclaim.Scheduled{Routine: borrow(k.name, r), Workers: 1, Solo: true}, err
}

func (ofKeys) withdraw(context.Context) error { return nil }
