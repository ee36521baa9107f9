package reclaim

import (
	"context"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// uploadItem returns a stale upload as an item. One that is held frees nothing.
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
		i.Why, i.Blobs, i.Frees = "stays, as a hold keeps it: "+i.Why, 0, 0
	}
	return i
}

// Items are the stale uploads, including those that are held.
func (u *Uploads) Items(ctx context.Context, yield func(plan.Item) error) error {
	list, err := u.Ledger.StaleUploads(ctx, ledger.OverdueQuery{Stale: u.stale(), Held: true})
	return eachUpload(list, err, u.Name(), yield)
}

// Items are the uploads that lifecycle rules abort now, including those that are
// held. Reapplying rules destroys nothing, and is no part of a plan.
func (l *Lifecycle) Items(ctx context.Context, yield func(plan.Item) error) error {
	list, err := l.Ledger.RuledUploads(ctx, ledger.OverdueQuery{Held: true})
	return eachUpload(list, err, l.Name(), yield)
}

func eachUpload(list []ledger.OverdueUpload, err error, do string, yield func(plan.Item) error) error {
	for _, up := range list {
		if err := yield(uploadItem(do, up)); err != nil {
			return err
		}
	}
	return err
}

// Apply aborts the uploads that are still untouched and not held.
func (u *Uploads) Apply(ctx context.Context, _ string, items []plan.Item, c *Counts) ([]plan.Result, error) {
	a := applied(items)
	err := unlessDoubted(ctx, u.Ledger, func(ctx context.Context) error {
		return a.uploads(func(up ledger.Upload) error {
			err := u.Ledger.AbortStale(ctx, up.ID, u.stale())
			if err == nil {
				u.Events.uploadAborted(up)
			}
			return err
		}, c)
	})
	return a.out, err
}

// Apply aborts the uploads that a rule in force still aborts, and that are not
// held.
func (l *Lifecycle) Apply(ctx context.Context, _ string, items []plan.Item, c *Counts) ([]plan.Result, error) {
	a := applied(items)
	err := unlessDoubted(ctx, l.Ledger, func(ctx context.Context) error {
		return a.uploads(func(up ledger.Upload) error {
			rule, err := l.Ledger.AbortRuled(ctx, up.ID)
			if err == nil {
				l.Events.uploadRuled(up, rule)
			}
			return err
		}, c)
	})
	return a.out, err
}

// uploads aborts one after the other.
func (a *application) uploads(abort func(ledger.Upload) error, c *Counts) error {
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
			c.Add(Items, 1)
			c.Add("aborted", 1)
		}
	}
	return nil
}
