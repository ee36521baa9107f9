package sim

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/placement"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// names says that a row may go: every row where none is named.
func (sc scope) names(n meta.Named) bool { return sc.only == nil || slices.Contains(sc.only, n) }

// plans makes the routine of a node, if the configuration asks for it: it makes a plan of what is
// due, and applies it a good while later, when much of it has changed.
func (w *World) plans(l *seam, stores map[string]blob.Store) []reclaim.Routine {
	if !w.cfg.Plans {
		return nil
	}
	b := meta.Batch{Limit: batch, MaxBlobs: 2 * batch}
	p := &planned{w: w, of: []reclaim.Planner{
		&reclaim.Expire{Ledger: l, Batch: b, Plans: l},
		&reclaim.Purge{Ledger: l, Batch: b, Plans: l},
		&reclaim.Clean{Ledger: l, Stores: stores, Store: w.store, Safety: safety, Limit: batch, Clock: w, Plans: l},
		&reclaim.Reap{Ledger: l, Stores: stores, Store: w.store, Safety: safety, Limit: batch, Plans: l},
	}}
	if w.placed() {
		p.of = append(p.of, reclaim.Borrow(placement.NewReplicate(w.placing(l, stores))).(reclaim.Planner))
	}
	return []reclaim.Routine{p, p}
}

// planned is the plans of several routines, in turn.
type planned struct {
	w    *World
	of   []reclaim.Planner
	next int
}

func (*planned) Name() string { return "planned" }

func (*planned) Plan(context.Context) (meta.Backlog, error) { return meta.Backlog{}, nil }

// few is how many items a plan has at most: what is left out must stay.
const few = 2

func (p *planned) Pass(worker string) reclaim.Step {
	return func(ctx context.Context, c *reclaim.Counts) (bool, error) {
		p.next++
		of := p.of[p.next%len(p.of)]
		items, err := first(ctx, of)
		if err != nil || len(items) == 0 {
			return false, err
		}
		if a := p.w.cur; a != nil {
			a.pause(time.Duration(1+p.w.rng.IntN(120)) * time.Minute)
		}
		results, err := of.Apply(ctx, worker, items, c)
		p.w.note("planned %s: %d items, %d results", of.Name(), len(items), len(results))
		if err == nil && len(results) != len(items) {
			p.w.fail(broken("a plan of %s has %d items, and %d results", named(of.Name()), len(items), len(results)))
		}
		return false, err
	}
}

var errEnough = errors.New("enough")

// first is the first items of a plan.
func first(ctx context.Context, of reclaim.Planner) (items []plan.Item, err error) {
	err = of.Items(ctx, func(i plan.Item) error {
		if items = append(items, i); len(items) == few {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return items, err
}
