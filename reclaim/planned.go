package reclaim

import (
	"context"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// Planner is a routine that can list item by item what a pass would take now, and
// take exactly such items.
type Planner interface {
	Routine
	// Items passes every item that a pass would take now to yield, and changes
	// nothing. It reads by the conditions under which a pass takes them.
	Items(ctx context.Context, yield func(plan.Item) error) error
	// Apply takes the items that a pass would still take, and that are still as
	// they were seen. Their own transaction checks that. It takes nothing else, and
	// returns one result for each item that it came to.
	Apply(ctx context.Context, worker string, items []plan.Item, c *Counts) ([]plan.Result, error)
}

// planPage is how many rows a plan reads at a time.
const planPage = 1000

// The kinds of items.
const (
	kindObject = "object"
	kindTrash  = "trash"
	kindBlob   = "blob"
	kindIntent = "intent"
	kindUpload = "upload"
)

// unlessDoubted does the work unless the clock is in doubt.
func unlessDoubted(ctx context.Context, ledger AgeLedger, work func(context.Context) error) error {
	_, err := unlessBehind(ledger, func(ctx context.Context, _ *Counts) (bool, error) { return false, work(ctx) })(ctx, nil)
	return err
}

// pages reads what is due page by page. What a hold keeps is deferred, and is no
// part of a plan.
func pages(ctx context.Context, read func(context.Context, ledger.DueQuery) (ledger.DuePage, error), each func(ledger.Due) error) error {
	for q := (ledger.DueQuery{Limit: planPage}); ; {
		p, err := read(ctx, q)
		if err != nil {
			return err
		}
		for _, d := range p.Rows {
			if d.Held {
				continue
			}
			if err := each(d); err != nil {
				return err
			}
		}
		if !p.More {
			return nil
		}
		q.After = p.Next
	}
}

// dueItem is an object or a trash entry as an item.
func dueItem(do, kind string, d ledger.Due) plan.Item {
	i := plan.Item{Do: do, Kind: kind, ID: string(d.ID), Bucket: d.BucketName, Key: d.ObjectKey, Size: d.Size, Due: d.At.Time()}
	switch {
	case kind == kindTrash:
		i.Why = "undo window is over"
	case d.Rule != "":
		i.Why = "rule " + d.Rule
	default:
		i.Why = "time to live is over"
	}
	if kind == kindObject {
		i.BucketID, i.Key = string(d.Bucket), d.Key
	}
	switch {
	case d.Refs == 1:
		i.Blobs, i.Frees = d.Blobs, d.BlobBytes
	case d.Refs > 1:
		i.Shared = true
	}
	return i
}

// Items are the objects that are due.
func (e *Expire) Items(ctx context.Context, yield func(plan.Item) error) error {
	return pages(ctx, e.Plans.DueObjects, func(d ledger.Due) error { return yield(dueItem(e.Name(), kindObject, d)) })
}

// Apply removes the objects that still have the version that was seen, and are due.
func (e *Expire) Apply(ctx context.Context, _ string, items []plan.Item, c *Counts) ([]plan.Result, error) {
	a := applied(items)
	err := unlessDoubted(ctx, e.Ledger, func(ctx context.Context) error {
		return a.reclaim(ctx, sized(e.batch, e.Controller), e.Batch, func(r ledger.Reclaimed) {
			countReclaimed(c, r)
			drop(ctx, e.Drop, r.Dropped)
			e.Events.reclaimed(lethe.ReasonExpiry, r)
		})
	})
	if err != nil || len(a.left) == 0 {
		return a.out, err
	}
	now, err := e.Plans.ObjectsNamed(ctx, a.left)
	a.spare(now)
	return a.out, err
}

// Items are the trash entries that are due.
func (p *Purge) Items(ctx context.Context, yield func(plan.Item) error) error {
	return pages(ctx, p.Plans.DueTrash, func(d ledger.Due) error { return yield(dueItem(p.Name(), kindTrash, d)) })
}

// Apply removes the entries that are still there, and due.
func (p *Purge) Apply(ctx context.Context, _ string, items []plan.Item, c *Counts) ([]plan.Result, error) {
	a := applied(items)
	err := unlessDoubted(ctx, p.Ledger, func(ctx context.Context) error {
		return a.reclaim(ctx, sized(p.batch, p.Controller), p.Batch, func(r ledger.Reclaimed) {
			countReclaimed(c, r)
			drop(ctx, p.Drop, r.Dropped)
			p.Events.reclaimed(lethe.ReasonPurge, r)
		})
	})
	for _, n := range a.left {
		if err == nil {
			a.result(n, plan.Gone, "it was restored or purged, or deferred for a hold")
		}
	}
	return a.out, err
}

// application is a set of items whose results are collected.
type application struct {
	items map[ledger.Named]plan.Item
	left  []ledger.Named
	out   []plan.Result
}

// applied indexes items; one that is named twice counts once.
func applied(items []plan.Item) *application {
	a := &application{items: make(map[ledger.Named]plan.Item, len(items))}
	for _, i := range items {
		n := ledger.Named{Bucket: lethe.ID(i.BucketID), Key: i.Key, ID: lethe.ID(i.ID)}
		if i.Kind != kindObject {
			n = ledger.Named{Key: i.ID, ID: lethe.ID(i.ID)}
		}
		if _, twice := a.items[n]; !twice {
			a.items[n] = i
			a.left = append(a.left, n)
		}
	}
	return a
}

func (a *application) result(n ledger.Named, o plan.Outcome, detail string) {
	a.out = append(a.out, plan.Result{Item: a.items[n], Outcome: o, Detail: detail})
}

// reclaim takes what is named in batches, until a batch takes nothing more.
func (a *application) reclaim(ctx context.Context, batch reclaimer, b ledger.Batch, done func(ledger.Reclaimed)) error {
	for len(a.left) > 0 {
		b.Only = a.left
		r, err := batch(ctx, b)
		if err != nil {
			return err
		}
		done(r)
		a.take(r.Taken)
		if !r.More || len(r.Taken) == 0 {
			return nil
		}
	}
	return nil
}

// take records what was removed.
func (a *application) take(went []ledger.Named) {
	gone := make(map[ledger.Named]bool, len(went))
	for _, n := range went {
		gone[n] = true
		a.result(n, plan.Done, "")
	}
	var left []ledger.Named
	for _, n := range a.left {
		if !gone[n] {
			left = append(left, n)
		}
	}
	a.left = left
}

// spare finds out why objects were left, by what lies under their keys now.
func (a *application) spare(now []ledger.Due) {
	type place struct {
		bucket lethe.ID
		key    string
	}
	there := make(map[place]ledger.Due, len(now))
	for _, d := range now {
		there[place{d.Bucket, d.Key}] = d
	}
	for _, n := range a.left {
		d, found := there[place{n.Bucket, n.Key}]
		switch {
		case !found:
			a.result(n, plan.Gone, "the key has no object")
		case d.ID != n.ID:
			a.result(n, plan.Changed, "version "+string(d.ID)+" has the key now")
		case !d.At.Time().Equal(a.items[n].Due):
			a.result(n, plan.NotDue, "it is due "+d.At.String())
		default:
			a.result(n, plan.Busy, "it is held, its rule is no longer in force, or another worker has it")
		}
	}
}
