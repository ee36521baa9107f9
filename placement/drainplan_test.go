package placement_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/placement"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// planner is a routine that lists what leaves.
type planner interface {
	Items(ctx context.Context, yield func(plan.Item) error) error
	Apply(ctx context.Context, worker string, items []plan.Item, add func(string, int64)) ([]plan.Result, error)
	Pass(string) placement.Step
}

func (w *world) items(r planner) (out []plan.Item) {
	w.Helper()
	w.must(r.Items(w.ctx, func(i plan.Item) error {
		out = append(out, i)
		return nil
	}))
	b, err := w.db.PlaceBacklog(w.ctx)
	w.must(err)
	w.want("queued by a plan", b.Count, 0)
	return out
}

func (w *world) applied(r planner, items []plan.Item) map[plan.Outcome]int {
	w.Helper()
	results, err := r.Apply(w.ctx, "w", items, func(string, int64) {})
	w.must(err)
	out := map[plan.Outcome]int{}
	for _, res := range results {
		out[res.Outcome]++
	}
	w.want("results", len(results), len(items))
	return out
}

// A plan of a drain names what replicate then does, room that moves fill included.
func TestAPlanOfADrain(t *testing.T) {
	w := newWorld(t, 1, map[string]int64{"a": 100 * kb, "b": 10 * kb, "c": 100 * kb})
	w.opt.Page = 7
	for i := range 30 {
		w.put("a", fmt.Sprint("k", i), kb)
	}
	w.part("a", "m", 500)
	w.must(w.db.SetDraining(w.ctx, "a", true))
	drain := placement.NewDrain(w.opt)
	items := w.items(drain)
	w.want("items", len(items), 31)
	to, freed := map[string]int{}, int64(0)
	for _, i := range items {
		if i.Do != "drain" || i.Backend != "a" || i.Kind != "blob" || i.Blobs != 1 {
			t.Fatalf("%+v", i)
		}
		to[i.With]++
		freed += i.Frees
	}
	w.want("moves", to, map[string]int{"b": 10, "c": 21})
	w.want("freed", freed, 30*kb+500)
	w.want("applied", w.applied(drain, items), map[plan.Outcome]int{plan.Done: 31})
	w.want("applied again", w.applied(drain, items), map[plan.Outcome]int{plan.Already: 31})
	w.opt.Claim = 1 // the figures are read anew for each, as the plan counts
	w.replicate()
	for _, i := range items[:30] {
		rows, err := w.db.BlobsByID(w.ctx, []lethe.ID{lethe.ID(i.ID)})
		w.must(err)
		w.want("the old copy", rows[0].State, lethe.Condemned)
	}
	moved := map[string]int{}
	for i := range 30 {
		moved[w.copies(fmt.Sprint("k", i))]++
	}
	if moved["b"]+moved["c"] != 30 || moved["b"] < 9 {
		t.Errorf("moved %v", moved)
	}
	w.want("applied at last", w.applied(drain, items), map[plan.Outcome]int{plan.Changed: 31})
	w.clean()
	w.want("after they are gone", w.applied(drain, items), map[plan.Outcome]int{plan.Gone: 31})
}

// twice stores an object on the backends a and b.
func (w *world) twice(key string) {
	w.Helper()
	w.put("a", key, kb)
	w.replicate()
	w.want("copies", w.copies(key), "a b")
}

// Copies that leave two backends at once are not planned for one place.
func TestAPlanOfTwoDrains(t *testing.T) {
	for _, strategy := range []placement.Strategy{placement.Pack, placement.Spread} {
		w := newWorld(t, 2, map[string]int64{"a": 100 * kb, "b": 100 * kb, "c": 100 * kb, "d": 100 * kb})
		w.twice("k")
		w.opt.Strategy = strategy
		for _, id := range []string{"a", "b"} {
			w.must(w.db.SetDraining(w.ctx, id, true))
		}
		moves := map[string]string{}
		for _, i := range w.items(placement.NewDrain(w.opt)) {
			moves[i.With] += i.Backend
		}
		if len(moves) != 2 || moves["c"] == "" || moves["d"] == "" {
			t.Errorf("%s: moves %v", strategy, moves)
		}
	}
}

// One copy is made of two that leave where no more are wanted.
func TestAPlanOfTwoDrainsToOneCopy(t *testing.T) {
	w := newWorld(t, 2, map[string]int64{"a": 100 * kb, "b": 100 * kb, "c": 100 * kb})
	w.twice("k")
	for _, id := range []string{"a", "b"} {
		w.must(w.db.SetDraining(w.ctx, id, true))
	}
	moves := map[string]int{}
	for _, i := range w.items(placement.NewDrain(w.opt)) {
		moves[i.With]++
	}
	w.want("moves", moves, map[string]int{"c": 1, "": 1})
}

// What cannot leave is reported, and a plan whose drain has ended does nothing.
func TestAPlanOfADrainThatHasNowhereToGo(t *testing.T) {
	w := newWorld(t, 1, map[string]int64{"a": 100 * kb, "b": kb})
	w.put("a", "large", 5*kb)
	w.must(w.db.SetDraining(w.ctx, "a", true))
	drain := placement.NewDrain(w.opt)
	items := w.items(drain)
	if len(items) != 1 || items[0].Frees != 0 || items[0].With != "" {
		t.Fatalf("%+v", items)
	}
	w.must(w.db.SetDraining(w.ctx, "a", false))
	w.want("applied", w.applied(drain, items), map[plan.Outcome]int{plan.Changed: 1})
	w.want("items", len(w.items(drain)), 0)
}

// A plan of an evening out is bounded as its pass is, and is no use once it evened.
func TestAPlanOfRebalancing(t *testing.T) {
	w := newWorld(t, 1, threeDisks())
	w.opt.Strategy, w.opt.MaxMove = placement.Spread, 25*kb
	for i := range 60 {
		w.put("a", fmt.Sprint("k", i), kb)
	}
	rebalance := placement.NewRebalance(w.opt)
	items := w.items(rebalance)
	w.want("items", len(items), 25)
	to := map[string]int{}
	for _, i := range items {
		to[i.With]++
	}
	if to["b"] == 0 || to["c"] == 0 || to["b"]+to["c"] != 25 {
		t.Errorf("moves %v", to)
	}
	w.want("applied", w.applied(rebalance, items[:20]), map[plan.Outcome]int{plan.Done: 20})
	w.want("moved", w.replicate()["copies"], 20)
	w.clean()
	w.want("applied again", w.applied(rebalance, items)[plan.Gone], 20)
	w.replicate()
	for _, id := range []string{"a", "b", "c"} {
		_, err := w.db.AddBackend(w.ctx, ledger.Backend{ID: id, Quota: 10000 * kb})
		w.must(err)
	}
	w.want("once it is even", len(w.items(rebalance)), 0)
	w.want("applied then", w.applied(rebalance, items[20:])[plan.Changed], 5)
}
