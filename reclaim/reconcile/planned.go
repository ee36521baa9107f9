package reconcile

import (
	"context"
	"maps"
	"slices"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

var _ reclaim.Planner = (*Routine)(nil)

const (
	// name is the routine's name, and that of its items in plans.
	name = "reconcile"
	// kindFound is the kind of orphans that are taken for lost blobs.
	kindFound = "found"
)

// Items walks over the backends as a dry run does, and passes what a walk would
// change to yield.
func (r *Routine) Items(ctx context.Context, yield func(plan.Item) error) error {
	o := r.o
	var failed error
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	o.DryRun, o.Chosen, o.Report = true, nil, nil
	o.Would = func(ch Change) {
		if failed == nil {
			if failed = yield(itemOf(ch)); failed != nil {
				stop()
			}
		}
	}
	err := New(o).toEnd(ctx, func(string, int64) {})
	if failed != nil {
		return failed
	}
	return err
}

// toEnd makes a pass.
func (r *Routine) toEnd(ctx context.Context, add reclaim.Add) error {
	step := r.Pass("")
	for {
		if more, err := step(ctx, add); err != nil || !more {
			return err
		}
	}
}

func itemOf(ch Change) plan.Item {
	i := plan.Item{Do: name, Kind: "dangling", ID: ch.Key, Backend: ch.Backend, Size: ch.Size}
	switch {
	case ch.For != "":
		i.Kind, i.Why = kindFound, "it has the bytes of lost blob "+string(ch.For)+": taken as its copy"
	case ch.Kind == ledger.FoundOrphan:
		i.Kind, i.Blobs, i.Frees = "orphan", 1, ch.Size
		i.Why = "an orphan that two walks saw: condemned"
	case ch.Copies > 0:
		i.Why = "its bytes are missing or damaged: suspect, healed from another copy"
	default:
		i.Why = "its bytes are missing or damaged, and there is no other copy: suspect, its objects are lost"
	}
	return i
}

func placeOf(i plan.Item) Place { return Place{i.Backend, i.ID, i.Kind == kindFound} }

// Apply walks over the backends of the items, and changes nothing else, as far as
// the walk still would.
func (r *Routine) Apply(ctx context.Context, _ string, items []plan.Item, add reclaim.Add) ([]plan.Result, error) {
	o := r.o
	backends, found, done := map[string]bool{}, map[Place]string{}, map[Place]bool{}
	o.DryRun, o.Would, o.Chosen = false, nil, map[Place]bool{}
	for _, i := range items {
		backends[i.Backend] = true
		o.Chosen[placeOf(i)] = true
	}
	o.Only = slices.Sorted(maps.Keys(backends))
	o.Did = func(ch Change) { done[Place{ch.Backend, ch.Key, ch.For != ""}] = true }
	o.Report = func(f ledger.Finding) {
		for _, take := range []bool{false, true} {
			if p := (Place{f.Backend, f.Key, take}); o.Chosen[p] {
				found[p] = f.Detail
			}
		}
	}
	err := New(o).toEnd(ctx, add)
	out := make([]plan.Result, 0, len(items))
	for _, i := range items {
		p := placeOf(i)
		detail, seen := found[p]
		switch {
		case done[p]:
			out = append(out, plan.Result{Item: i, Outcome: plan.Done})
		case err != nil: // the walk may not have reached it
			out = append(out, plan.Result{Item: i, Outcome: plan.Failed, Detail: "the walk was interrupted"})
		case seen:
			out = append(out, plan.Result{Item: i, Outcome: plan.Held, Detail: "the walk found it and may not change it now: " + detail})
		default:
			out = append(out, plan.Result{Item: i, Outcome: plan.Gone, Detail: "it is sound, or accounted for"})
		}
	}
	return out, err
}
