package placement

import (
	"context"
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// Items are the contents that a walk would queue, and what would become of each.
func (v *Survey) Items(ctx context.Context, yield func(plan.Item) error) error {
	a, err := v.o.aims(ctx)
	if err != nil {
		return err
	}
	for after := lethe.ID(""); ; {
		page, err := v.o.Ledger.Walk.PlacedContents(ctx, after, v.o.Page)
		if err != nil {
			return fmt.Errorf("placement: contents: %w", err)
		}
		more := len(page) == v.o.Page
		if more {
			after = page[len(page)-1].ID
		}
		page = slices.DeleteFunc(page, func(p ledger.Placement) bool { d := a.decide(p); return d.empty() })
		if page, err = v.o.unqueued(ctx, page); err == nil {
			err = a.items(v.Name(), page, yield)
		}
		if err != nil || !more {
			return err
		}
	}
}

// unqueued leaves out subjects that are queued.
func (o *Options) unqueued(ctx context.Context, page []ledger.Placement) ([]ledger.Placement, error) {
	if len(page) == 0 {
		return nil, nil
	}
	ids := make([]lethe.ID, len(page))
	for n, p := range page {
		ids[n] = p.ID
	}
	rows, err := o.Ledger.Queue.QueuedPlacements(ctx, ledger.PlacementQuery{Only: ids})
	if err != nil {
		return nil, fmt.Errorf("placement: what is queued: %w", err)
	}
	queued := map[lethe.ID]bool{}
	for _, row := range rows {
		queued[row.ID] = true
	}
	return slices.DeleteFunc(page, func(p ledger.Placement) bool { return queued[p.ID] }), nil
}

// Apply queues the contents whose copies are still not as wanted. Replicate then
// decides on each anew, under its claim.
func (v *Survey) Apply(ctx context.Context, _ string, list []plan.Item, add func(string, int64)) (out []plan.Result, err error) {
	a, err := v.o.aims(ctx)
	if err != nil {
		return nil, err
	}
	subjects := make([]ledger.Subject, len(list))
	for n, id := range idsOf(list) {
		subjects[n].ID = id
	}
	placed, err := v.o.Ledger.Walk.Placed(ctx, subjects)
	if err != nil {
		return nil, fmt.Errorf("placement: read copies: %w", err)
	}
	for n, i := range list {
		res, err := v.o.surveyed(ctx, &a, placed[n], i)
		if err != nil {
			return out, err
		}
		out = append(out, counted(add, res))
	}
	return out, nil
}

// surveyed queues a content if its copies are not as wanted.
func (o *Options) surveyed(ctx context.Context, a *aims, p ledger.Placement, i plan.Item) (plan.Result, error) {
	res := plan.Result{Item: i, Outcome: plan.Done}
	d := a.decide(p)
	switch {
	case p.Content.ID == "":
		res.Outcome, res.Detail = plan.Gone, "the content is gone"
		return res, nil
	case d.empty():
		res.Outcome, res.Detail = plan.Changed, "its copies are as wanted"
		return res, nil
	}
	n, err := o.Ledger.Queue.QueuePlacements(ctx, []ledger.Subject{{ID: p.ID}})
	if err != nil {
		return res, fmt.Errorf("placement: queue: %w", err)
	}
	if n == 0 {
		res.Outcome, res.Detail = plan.Already, "it is queued already"
	}
	return res, nil
}
