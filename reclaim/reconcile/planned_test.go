package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/plan"
	"github.com/lethe-storage/lethe/reclaim/reconcile"
)

// planned is what a walk would change, by key.
func (w *world) planned() (list []plan.Item, why map[string]string) {
	w.Helper()
	why = map[string]string{}
	w.must(w.routine().Items(w.ctx, func(i plan.Item) error {
		list = append(list, i)
		why[i.ID] = i.Kind
		return nil
	}))
	return list, why
}

func (w *world) applied(items []plan.Item) map[plan.Outcome]int {
	w.Helper()
	results, err := w.routine().Apply(w.ctx, "w", items, func(string, int64) {})
	w.must(err)
	out := map[plan.Outcome]int{}
	for _, r := range results {
		out[r.Outcome]++
	}
	return out
}

func (w *world) outcomes(have, want map[plan.Outcome]int) {
	w.Helper()
	if fmt.Sprint(have) != fmt.Sprint(want) {
		w.Errorf("became %v, want %v", have, want)
	}
}

// A plan names what the next walk would change, changes nothing, and applied changes
// nothing else.
func TestPlan(t *testing.T) {
	inModes(t, func(w *world) {
		copied, alone := w.put("copied", "has a copy", 2), w.put("alone", "has none", 1)
		first, second, third := w.plant(), w.plant(), w.plant()
		w.run()
		w.later(grace)
		young := w.plant()
		_, err := w.main.Delete(w.ctx, []string{w.key(copied), w.key(alone)})
		w.must(err)
		items, kinds := w.planned()
		want := map[string]string{w.key(copied): "dangling", w.key(alone): "dangling", w.key(first): "orphan", w.key(second): "orphan", w.key(third): "orphan"}
		if fmt.Sprint(kinds) != fmt.Sprint(want) {
			w.Fatalf("planned %v, want %v", kinds, want)
		}
		row, _ := w.ledger.Blob(copied)
		if row.Suspect || w.state(first) != 0 {
			w.Fatal("a plan has changed something")
		}
		var some []plan.Item
		for _, i := range items {
			if i.ID == w.key(copied) || i.ID == w.key(first) || i.ID == w.key(second) {
				some = append(some, i)
			}
		}
		_, err = w.main.Delete(w.ctx, []string{w.key(second)})
		w.must(err)
		w.outcomes(w.applied(some), map[plan.Outcome]int{plan.Done: 2, plan.Gone: 1})
		for id, want := range map[lethe.ID]lethe.State{first: lethe.Condemned, second: 0, third: 0, young: 0} {
			if w.state(id) != want {
				w.Errorf("orphan %s is %s", id, w.state(id))
			}
		}
		for id, want := range map[lethe.ID]bool{copied: true, alone: false} {
			if row, _ := w.ledger.Blob(id); row.Suspect != want {
				w.Errorf("blob %s is suspect: %v", id, row.Suspect)
			}
		}
		w.outcomes(w.applied(some[:1]), map[plan.Outcome]int{plan.Done: 1}) // it is missing still
		if _, kinds = w.planned(); fmt.Sprint(kinds) != fmt.Sprint(map[string]string{w.key(alone): "dangling", w.key(third): "orphan"}) {
			w.Errorf("planned then %v", kinds)
		}
	})
}

// What a walk may not change is in no plan, and an earlier plan does not change it
// either.
func TestPlanInDoubt(t *testing.T) {
	w := newWorld(t)
	orphan, missing := w.plant(), w.put("k", "body", 1)
	w.run()
	w.later(grace)
	_, err := w.main.Delete(w.ctx, []string{w.key(missing)})
	w.must(err)
	items, _ := w.planned()
	if len(items) != 2 {
		t.Fatalf("planned %+v", items)
	}
	w.must(w.ledger.HoldBackend(w.ctx, "main", "a person said so"))
	if held, _ := w.planned(); len(held) != 0 {
		t.Errorf("planned %+v", held)
	}
	w.outcomes(w.applied(items), map[plan.Outcome]int{plan.Held: 2})
	if row, _ := w.ledger.Blob(missing); row.Suspect || w.state(orphan) != 0 {
		t.Error("it was changed")
	}
}

// As many are planned as one walk condemns, and none if they are implausibly many;
// a caller that stops the plan ends the walk.
func TestPlanIsBounded(t *testing.T) {
	w := newWorld(t)
	for range 150 {
		w.plant()
	}
	w.set = func(o *reconcile.Options) { o.MostOrphans, o.MostShare = 20, 2 }
	w.run()
	w.later(grace)
	if items, _ := w.planned(); len(items) != 20 {
		t.Errorf("%d are planned", len(items))
	}
	w.set = func(o *reconcile.Options) {}
	told := 0
	w.events.HeldBack = func(string, int64, string) { told++ }
	if items, _ := w.planned(); len(items) != 0 || told != 0 {
		t.Errorf("%d are planned, told %d times", len(items), told)
	}
	w.set = func(o *reconcile.Options) { o.MostShare = 2 }
	enough := errors.New("enough")
	if err := w.routine().Items(w.ctx, func(plan.Item) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("who has enough is told %v", err)
	}
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	if err := w.routine().Items(ctx, func(plan.Item) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if found, err := w.ledger.Findings(w.ctx, ledger.FindingQuery{Limit: 1000}); err != nil || len(found) != 150 {
		t.Errorf("%d findings, %v", len(found), err)
	}
}
