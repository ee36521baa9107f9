package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/placement"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/plan"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// names says that a row may go: every row where none is named.
func (sc scope) names(n ledger.Named) bool { return sc.only == nil || slices.Contains(sc.only, n) }

// plans makes the routine of a node, if the configuration asks for it: it makes a plan of what is
// due, and applies it a good while later, when much of it has changed.
func (w *World) plans(l *seam, stores map[string]blob.Store) []reclaim.Routine {
	if !w.cfg.Plans {
		return nil
	}
	b := ledger.Batch{Limit: batch, MaxBlobs: maxBlobs}
	p := &planned{w: w, of: []reclaim.Planner{
		&routine.Expire{Ledger: l, Batch: b, Plans: l},
		&routine.Purge{Ledger: l, Batch: b, Plans: l},
		&routine.Clean{Ledger: l, Stores: stores, Store: w.store, Safety: safety, Limit: batch, Clock: w, Plans: l},
		&routine.Reap{Ledger: l, Stores: stores, Store: w.store, Safety: safety, Limit: batch, Plans: l},
	}}
	if w.placed() {
		o := w.placing(l, stores)
		copies, survey := placement.NewReplicate(o), w.survey(l).(reclaim.Planner)
		p.of = append(p.of, copies, survey, copies, placement.NewDrain(o))
	}
	return slices.Repeat([]reclaim.Routine{p}, often)
}

// planned is the plans of several routines, in turn.
type planned struct {
	w    *World
	of   []reclaim.Planner
	next int
}

func (*planned) Name() string { return "planned" }

func (*planned) Plan(context.Context) (ledger.Backlog, error) { return ledger.Backlog{}, nil }

// often is how many times likelier a worker picks plans than one of its routines.
const often = 6

// few is how many items a plan has at most: what is left out must stay.
const few = 2

func (p *planned) Pass(worker string) reclaim.Step {
	return func(ctx context.Context, add reclaim.Add) (bool, error) {
		p.next++
		of := p.of[p.next%len(p.of)]
		items, err := first(ctx, of)
		if err != nil || len(items) == 0 {
			return false, err
		}
		if a := p.w.cur; a != nil {
			a.pause(time.Duration(1+p.w.rng.IntN(120)) * time.Minute)
			a.plan, a.decided, a.queued = items, a.effects, 0
			defer func() { a.plan = nil }()
		}
		results, err := of.Apply(ctx, worker, items, add)
		p.w.note("planned %s: %d items, %d results", of.Name(), len(items), len(results))
		if err == nil && len(results) != len(items) {
			p.w.fail(broken("a plan of %s has %d items, and %d results", named(of.Name()), len(items), len(results)))
		}
		p.w.fail(p.w.oracle.told(results))
		if a := p.w.cur; err == nil && a != nil {
			p.w.fail(a.toldQueued(results))
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

// planned holds what a step takes against the plan that its actor applies, if it
// applies one: its items, or what they say is condemned beside a copy.
func (a *actor) planned(step Step, ids ...lethe.ID) error {
	if a == nil || a.plan == nil {
		return nil
	}
	for _, id := range ids {
		if !slices.ContainsFunc(a.plan, func(i plan.Item) bool {
			return i.ID == string(id) || slices.Contains(strings.Split(i.Seen, ";"), "condemn "+string(id))
		}) {
			return broken("%s takes %s, which the plan that is applied does not name", named(step), id)
		}
	}
	return nil
}

// walking says that a plan's items are what a walk has looked after: such a plan
// queues subjects, and does nothing to them.
func walking(i plan.Item) bool { return i.Do == "survey" || i.Do == "drain" }

// queues holds what a plan of a walk queues against its items: those, or the contents
// of those, and, as long as nobody has done anything since it decided, only what is
// not as it is wanted.
func (a *actor) queues(subjects []ledger.Subject) error {
	if a == nil || a.plan == nil {
		return nil
	}
	fresh := a.effects == a.decided
	for _, s := range subjects {
		named, wrong := false, false
		for _, i := range a.plan {
			if walking(i) && (i.ID == string(s.ID) || a.w.contentOf(lethe.ID(i.ID)) == s.ID) {
				named, wrong = true, wrong || a.w.oracle.astray(i) // any of its segments
			}
		}
		switch {
		case !named:
			return broken("%s is queued, which the plan that is applied does not name", s.ID)
		case fresh && !wrong:
			return broken("a plan queues %s, and nothing has to be done for it", s.ID)
		}
	}
	return nil
}

// toldQueued: what was told as done was queued by this plan, and all that was.
func (a *actor) toldQueued(results []plan.Result) error {
	done := 0
	for _, r := range results {
		if !walking(r.Item) {
			return nil
		}
		if r.Outcome == plan.Done {
			done++
		}
	}
	if done != a.queued {
		return broken("%d items of a plan were told as queued, and %d were", done, a.queued)
	}
	return nil
}

// astray says that what a walk's item names has to be looked after, by the rows: a
// content whose copies are not as they are wanted, or what lies on a backend that
// drains.
func (o *oracle) astray(i plan.Item) bool {
	drained := o.w.drained()
	if i.Do == "drain" {
		b := o.last[lethe.ID(i.ID)]
		return b.State == lethe.Live && b.Backend == drained
	}
	want := len(o.w.backends())
	if drained != "" {
		want--
	}
	want = min(o.w.replicas(), want)
	copies, on := map[int]int{}, map[string]bool{}
	for _, b := range o.view.Blobs {
		if b.ContentID != lethe.ID(i.ID) || b.State != lethe.Live {
			continue
		}
		at := fmt.Sprint(b.Segment, b.Backend)
		if b.Backend == drained || b.Suspect || on[at] {
			return true
		}
		on[at] = true
		copies[b.Segment]++
	}
	for _, n := range copies {
		if n != want {
			return true
		}
	}
	return false
}

// told holds what was said of the items of a plan against the rows.
func (o *oracle) told(results []plan.Result) error {
	for _, r := range results {
		if r.Outcome != plan.Done {
			continue
		}
		id := lethe.ID(r.Item.ID)
		if _, there := o.entry(id); there || slices.ContainsFunc(o.view.Objects, func(x ledger.Object) bool { return x.ID == id }) {
			return broken("%s was told as done, and is there", r.Item.ID)
		}
	}
	return nil
}

func blobIDs(blobs []ledger.Blob) []lethe.ID {
	out := make([]lethe.ID, len(blobs))
	for i, b := range blobs {
		out[i] = b.ID
	}
	return out
}
