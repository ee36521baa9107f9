package routine

import (
	"context"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/plan"
	"github.com/lethe-storage/lethe/reclaim/predict"
)

// PlanLedger lists what the routines would take now, item by item, by the
// conditions under which they take it.
type PlanLedger interface {
	predict.Ledger
	DueBlobs(ctx context.Context, q ledger.DueQuery) ([]ledger.Blob, error)
	// ObjectsNamed and BlobsByID read the rows that a plan names as they are now.
	ObjectsNamed(ctx context.Context, names []ledger.Named) ([]ledger.Due, error)
	BlobsByID(ctx context.Context, ids []lethe.ID) ([]ledger.Blob, error)
	Backends(ctx context.Context) ([]ledger.Backend, error)
	Totals(ctx context.Context) ([]ledger.Total, error)
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

// blobPages reads due blobs page by page.
func blobPages(ctx context.Context, from PlanLedger, q ledger.DueQuery, each func(ledger.Blob) error) error {
	q.Limit = planPage
	for {
		list, err := from.DueBlobs(ctx, q)
		if err != nil {
			return err
		}
		for _, b := range list {
			if err := each(b); err != nil {
				return err
			}
			q.After = ledger.DueMark{Due: b.DueAt, Size: b.Size, Name: string(b.ID)}
			if q.State == lethe.Pending {
				q.After.Due = b.BeatAt
			}
		}
		if len(list) < planPage {
			return nil
		}
	}
}

// dueItem is an object or a trash entry as an item.
func dueItem(do, kind string, d predict.Due) plan.Item {
	i := plan.Item{Do: do, Kind: kind, ID: string(d.ID), Bucket: d.BucketName, Key: d.ObjectKey, Size: d.Size, Due: d.At.Time(), Stays: d.Stays,
		Blobs: d.Blobs, Frees: d.BlobBytes}
	switch d.By {
	case ledger.EndsByUndo:
		i.Why = "undo window is over"
	case ledger.EndsByRoom:
		i.Why = "its bucket needs room; last used then"
	case ledger.EndsByRead:
		i.Why = "it was read for the last time"
	case ledger.EndsByIdle:
		i.Why = "it was not read for its idle time"
	case ledger.EndsByRule:
		i.Why = "rule " + d.Rule
		if d.Unapplied {
			i.Why += ", once lifecycle has applied it"
		}
	default:
		i.Why = "time to live is over"
	}
	if kind == kindObject {
		i.BucketID, i.Key = string(d.Bucket), d.Key
	}
	if d.Refs > 1 {
		i.Refs, i.Content = d.Refs, string(d.Content)
	}
	return i
}

// uploadItem returns a stale upload as an item.
func uploadItem(do string, u ledger.OverdueUpload) plan.Item {
	i := plan.Item{Do: do, Kind: kindUpload, ID: string(u.Upload.ID), Bucket: u.Upload.Bucket, Key: u.Upload.Key,
		Size: u.Bytes, Blobs: u.Blobs, Frees: u.Bytes, Due: u.At.Time()}
	if len(u.Backends) == 1 {
		i.Backend = u.Backends[0]
	}
	switch {
	case u.Rule != "":
		i.Why = "rule " + u.Rule
	case u.By != "":
		i.Why = "untouched for " + lethe.FormatTTL(u.Stale) + ", with parts on " + u.By
	default:
		i.Why = "untouched for " + lethe.FormatTTL(u.Stale)
	}
	if u.Held {
		i.Stays = predict.HeldText
	}
	return i
}

func eachUpload(list []ledger.OverdueUpload, err error, do string, yield func(plan.Item) error) error {
	for _, up := range list {
		if err := yield(uploadItem(do, up)); err != nil {
			return err
		}
	}
	return err
}

// application is a set of items whose results are collected.
type application struct {
	items map[ledger.Named]plan.Item
	left  []ledger.Named
	out   []plan.Result
}

// applied indexes the items that are taken; one that is named twice counts once.
func applied(items []plan.Item) *application {
	going, staying := plan.Staying(items)
	a := &application{items: make(map[ledger.Named]plan.Item, len(going)), out: staying}
	for _, i := range going {
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

// uploads aborts one after the other.
func (a *application) uploads(abort func(ledger.Upload) error, add reclaim.Add) error {
	for _, n := range a.left {
		i := a.items[n]
		switch err := abort(ledger.Upload{ID: n.ID, Bucket: i.Bucket, Key: i.Key}); {
		case errors.Is(err, lethe.ErrNoSuchUpload):
			a.result(n, plan.Changed, "it is gone, or was continued")
		case errors.Is(err, lethe.ErrHeld):
			a.result(n, plan.Held, err.Error())
		case err != nil:
			return fmt.Errorf("reclaim: abort upload %s: %w", n.ID, err)
		default:
			a.result(n, plan.Done, "")
			add(reclaim.Items, 1)
			add("aborted", 1)
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

// settled records the results of deletes.
func (a *application) settled(items []ledger.SettleItem) {
	var went []ledger.Named
	for _, item := range items {
		n := ledger.Named{Key: string(item.ID), ID: item.ID}
		switch item.Result {
		case ledger.Gone, ledger.Absent:
			went = append(went, n)
		default:
			a.result(n, plan.Failed, item.Error)
			a.drop(n)
		}
	}
	a.take(went)
}

// resolved records how an intent was resolved.
func (a *application) resolved(n ledger.Named, res reclaim.Resolution) {
	o := plan.Done
	switch res {
	case reclaim.Ambiguous:
		o = plan.Failed
	case reclaim.Vanished:
		o = plan.Busy
	}
	a.result(n, o, string(res))
	a.drop(n)
}

// drop takes an item out of those that are left.
func (a *application) drop(n ledger.Named) {
	for i, l := range a.left {
		if l == n {
			a.left = append(a.left[:i], a.left[i+1:]...)
			return
		}
	}
}

// rest gives all remaining items the same result.
func (a *application) rest(o plan.Outcome, detail string) {
	for _, n := range a.left {
		a.result(n, o, detail)
	}
	a.left = nil
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
		case d.At == 0:
			a.result(n, plan.Held, "a hold or a limit keeps it, its rule is not applied to it yet, or it has no end now")
		case !d.At.Time().Equal(a.items[n].Due):
			a.result(n, plan.NotDue, "it is due "+d.At.String())
		default:
			a.result(n, plan.Busy, "it is held, its rule is no longer in force, or another worker has it")
		}
	}
}

// explain finds out why the remaining blobs could not be claimed in a state.
func (a *application) explain(ctx context.Context, from PlanLedger, in lethe.State, now lethe.Time) error {
	rows, err := from.BlobsByID(ctx, idsOf(a.left))
	if err != nil {
		return err
	}
	there := make(map[lethe.ID]ledger.Blob, len(rows))
	for _, b := range rows {
		there[b.ID] = b
	}
	for _, n := range a.left {
		b, found := there[n.ID]
		switch {
		case !found:
			a.result(n, plan.Gone, "its row is gone")
		case b.State != in:
			a.result(n, plan.Changed, "it is "+b.State.String()+" now")
		case b.Claim.Fence != 0:
			a.result(n, plan.Busy, "claimed by "+b.Claim.Worker)
		case in == lethe.Condemned && b.DueAt > now:
			a.result(n, plan.NotDue, "it is due "+b.DueAt.String())
		default:
			a.result(n, plan.NotDue, "")
		}
	}
	a.left = nil
	return nil
}

func idsOf(names []ledger.Named) []lethe.ID {
	out := make([]lethe.ID, len(names))
	for i, n := range names {
		out[i] = n.ID
	}
	return out
}

var _ = []reclaim.Planner{(*Expire)(nil), (*Purge)(nil), (*Clean)(nil), (*Reap)(nil), (*Uploads)(nil), (*Lifecycle)(nil), (*Evict)(nil)}
