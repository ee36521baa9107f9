package reclaim

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/plan"
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

// Items are the condemned blobs that are due, on all backends.
func (k *Clean) Items(ctx context.Context, yield func(plan.Item) error) error {
	for _, id := range k.backends() {
		q := ledger.DueQuery{State: lethe.Condemned, Backend: id}
		err := blobPages(ctx, k.Plans, q, func(b ledger.Blob) error {
			return yield(plan.Item{Do: k.Name(), Kind: kindBlob, ID: string(b.ID), Backend: b.Backend, Size: b.Size,
				Frees: b.Size, Blobs: 1, Why: string(b.Reason), Due: b.DueAt.Time()})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Apply deletes the blobs that are still condemned, due and unclaimed.
func (k *Clean) Apply(ctx context.Context, worker string, items []plan.Item, c *Counts) ([]plan.Result, error) {
	byBackend := map[string][]plan.Item{}
	for _, i := range items {
		byBackend[i.Backend] = append(byBackend[i.Backend], i)
	}
	var out []plan.Result
	for _, backend := range slices.Sorted(maps.Keys(byBackend)) {
		a := applied(byBackend[backend])
		err := k.applyOn(ctx, ledger.ClaimRequest{Worker: worker, Backend: backend, Limit: k.Limit}, a, c)
		out = append(out, a.out...)
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

func (k *Clean) applyOn(ctx context.Context, r ledger.ClaimRequest, a *application, c *Counts) error {
	if k.Stores[r.Backend] == nil {
		a.rest(plan.Changed, "backend "+r.Backend+" is not configured any more")
		return nil
	}
	for len(a.left) > 0 && ctx.Err() == nil {
		if k.resting(r.Backend) {
			a.rest(plan.Busy, "the backend is down")
			return nil
		}
		held, waiting := c.Get("held"), c.Get("waiting")
		r.Only = idsOf(a.left)
		b, err := k.next(ctx, &queue{request: r}, c)
		if err != nil {
			return err
		}
		if len(b.Blobs) == 0 {
			switch {
			case c.Get("held") > held:
				a.rest(plan.Held, "deletes on the backend are held")
				return nil
			case c.Get("waiting") > waiting:
				a.rest(plan.Busy, "the backend "+ErrNotQuiet.Error())
				return nil
			}
			return a.explain(ctx, k.Plans, lethe.Condemned, b.Now)
		}
		items, err := k.deleteAndSettle(ctx, r.Backend, b, c)
		if err != nil {
			return err
		}
		a.settled(items)
	}
	return ctx.Err()
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

// Items are the intents whose writers have sent no heartbeat for too long.
func (r *Reap) Items(ctx context.Context, yield func(plan.Item) error) error {
	q := ledger.DueQuery{State: lethe.Pending, MinAge: r.Safety.MinAge}
	return blobPages(ctx, r.Plans, q, func(b ledger.Blob) error {
		return yield(plan.Item{Do: r.Name(), Kind: kindIntent, ID: string(b.ID), Backend: b.Backend, Size: b.Size,
			Why: "no heartbeat of its writer: promoted if its bytes prove the write, else condemned", Due: b.BeatAt.Add(r.Safety.MinAge).Time()})
	})
}

// Apply resolves the intents that still have no heartbeat.
func (r *Reap) Apply(ctx context.Context, worker string, items []plan.Item, c *Counts) ([]plan.Result, error) {
	a := applied(items)
	err := unlessDoubted(ctx, r.Ledger, func(ctx context.Context) error {
		claimed, err := r.claim(ctx, ledger.ClaimRequest{Worker: worker, MinAge: r.Safety.MinAge, Only: idsOf(a.left)})
		if err != nil {
			return fmt.Errorf("reclaim: claim intents: %w", err)
		}
		for _, in := range claimed.Intents {
			res, err := r.finish(ctx, claimed.Fence, in, c)
			if err != nil {
				return err
			}
			a.resolved(ledger.Named{Key: string(in.Blob.ID), ID: in.Blob.ID}, res)
		}
		return a.explain(ctx, r.Plans, lethe.Pending, claimed.Now)
	})
	return a.out, err
}

// resolved records how an intent was resolved.
func (a *application) resolved(n ledger.Named, res Resolution) {
	o := plan.Done
	switch res {
	case Ambiguous:
		o = plan.Failed
	case Vanished:
		o = plan.Busy
	}
	a.result(n, o, string(res))
	a.drop(n)
}

var _ = []Planner{(*Expire)(nil), (*Purge)(nil), (*Clean)(nil), (*Reap)(nil), (*Uploads)(nil), (*Lifecycle)(nil)}
