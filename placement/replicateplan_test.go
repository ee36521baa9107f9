package placement_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/placement"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// queued are the items of a plan of what is queued, which stays so.
func (w *world) queued() (out []plan.Item) {
	w.Helper()
	before, err := w.db.PlaceBacklog(w.ctx)
	w.must(err)
	w.must(placement.NewReplicate(w.opt).Items(w.ctx, func(i plan.Item) error {
		out = append(out, i)
		return nil
	}))
	after, err := w.db.PlaceBacklog(w.ctx)
	w.must(err)
	w.want("queued by a plan", after, before)
	return out
}

// A plan of what is queued names the copies that are made, and applied it makes
// those of the items that it is given and no others.
func TestAPlanOfCopies(t *testing.T) {
	w := newWorld(t, 2, map[string]int64{"a": 100 * kb, "b": 3 * kb, "c": 100 * kb})
	w.opt.Claim, w.opt.Page = 2, 2
	for i := range 5 {
		w.put("a", fmt.Sprint("k", i), kb)
	}
	items := w.queued()
	w.want("items", len(items), 5)
	to := map[string]int{}
	for _, i := range items {
		if i.Do != "replicate" || i.Kind != "content" || i.Copies != 1 || i.Blobs != 0 || i.Size != kb {
			t.Errorf("%+v", i)
		}
		to[i.Why]++
	}
	w.want("to", to, map[string]int{"copied to b": 3, "copied to c": 2})
	r := placement.NewReplicate(w.opt)
	w.want("applied", w.applied(r, items[:3]), map[plan.Outcome]int{plan.Done: 3})
	copies := 0
	for i := range 5 {
		if w.copies(fmt.Sprint("k", i)) == "a b" {
			copies++
		}
	}
	w.want("copies", copies, 3)
	w.want("applied again", w.applied(r, items[:3]), map[plan.Outcome]int{plan.Already: 3})
	w.want("after they were looked after", w.applied(r, items[:3]), map[plan.Outcome]int{plan.Gone: 3})
	w.sound()
	w.replicate()
	w.want("at last", w.applied(r, items), map[plan.Outcome]int{plan.Gone: 5})
}

// A plan names each copy that is condemned; one whose content has changed since, or
// that is not what would be done any more, is left alone.
func TestAPlanOfTrims(t *testing.T) {
	w := newWorld(t, 2, map[string]int64{"a": 100 * kb, "b": 100 * kb, "c": 100 * kb})
	for _, key := range []string{"k0", "k1", "k2"} {
		w.put("a", key, kb)
		w.clock.Advance(time.Second) // in the order of their ids
	}
	w.replicate()
	w.opt.Replicas = 1
	survey := placement.NewSurvey(w.opt)
	found := w.items(survey)
	w.want("surveyed", len(found), 3)
	w.want("why", found[0].Why, "condemned: surplus on b")
	w.want("frees", found[0].Frees, kb)
	w.want("queued", w.applied(survey, found[:2]), map[plan.Outcome]int{plan.Done: 2})
	w.want("again", w.applied(survey, found[:2]), map[plan.Outcome]int{plan.Already: 2})
	items := w.queued()
	w.want("items", len(items), 2)
	first, second := items[0], items[1]
	_, err := w.db.MarkSuspect(w.ctx, []lethe.ID{w.blob("k0", "a").ID}, "a test")
	w.must(err)
	got := w.applied(placement.NewReplicate(w.opt), []plan.Item{first, second})
	w.want("applied", got, map[plan.Outcome]int{plan.Done: 1, plan.Changed: 1})
	w.want("copies of what has changed", w.copies("k0"), "a? b")
	w.want("copies", w.copies("k1")+", "+w.copies("k2"), "a, a b")
	w.sound()
	w.clean()
	w.whole("k1", kb)
}

// Copies that leave a backend are made, and the old ones condemned, in one
// application; what waits is listed and left.
func TestAPlanOfWhatMoves(t *testing.T) {
	w := newWorld(t, 1, map[string]int64{"a": 100 * kb, "b": 2 * kb})
	w.put("a", "k", kb)
	w.put("a", "large", 5*kb)
	w.part("a", "m", 500)
	w.must(w.db.SetDraining(w.ctx, "a", true))
	w.pass(placement.NewDrain(w.opt))
	items := w.queued()
	why := map[string]int{}
	for _, i := range items {
		why[i.Kind+" "+i.Why]++
	}
	w.want("why", why, map[string]int{
		"content copied to b; condemned: rebalance on a": 1, "part copied to b; condemned: rebalance on a": 1,
		"content waits: too few backends take a copy now, or hold a sound one": 1,
	})
	got := w.applied(placement.NewReplicate(w.opt), items)
	w.want("applied", got, map[plan.Outcome]int{plan.Done: 2, plan.Held: 1})
	w.want("copies", w.copies("k")+", "+w.copies("large"), "b, a")
	w.sound()
	w.clean()
	w.whole("k", kb)
}

// What another looks after, or what waits after a failure, is left to whom it is.
func TestAPlanOfWhatIsTaken(t *testing.T) {
	w := newWorld(t, 2, map[string]int64{"a": 100 * kb, "b": 100 * kb})
	w.put("a", "k", kb)
	items := w.queued()
	claimed, err := w.db.ClaimPlacements(w.ctx, claimOfOne)
	w.must(err)
	r := placement.NewReplicate(w.opt)
	w.want("taken", w.applied(r, items), map[plan.Outcome]int{plan.Busy: 1})
	_, err = w.db.SettlePlacements(w.ctx, claimed.Fence, laterFor(claimed))
	w.must(err)
	w.want("later", w.applied(r, items), map[plan.Outcome]int{plan.NotDue: 1})
	w.want("copies", w.copies("k"), "a")
}

var claimOfOne = ledger.PlacementClaim{Worker: "other", Limit: 1, Lease: time.Hour}

func laterFor(c ledger.Placements) []ledger.PlacementResult {
	return []ledger.PlacementResult{{ID: c.Items[0].ID, RetryAt: c.Now.Add(time.Hour), Error: "it failed"}}
}
