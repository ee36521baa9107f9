package placement_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/placement"
)

// failing is a ledger whose queue cannot be reached.
type failing struct{ ledgertest.PlacementLedger }

func (failing) ClaimPlacements(context.Context, ledger.PlacementClaim) (ledger.Placements, error) {
	return ledger.Placements{}, lethe.ErrUnavailable
}

func TestDrainingEmptiesABackend(t *testing.T) {
	w := newWorld(t, 1, threeDisks())
	for i := range 30 {
		w.put("a", fmt.Sprint("k", i), 100+i)
	}
	u := w.part("a", "m", 500)
	pending := w.upload(ledger.Intent{Backend: "a"}, "begun before")
	w.must(w.db.SetDraining(w.ctx, "a", true))
	w.opt.Page = 7
	plan, err := placement.NewDrain(w.opt).Plan(w.ctx)
	w.must(err)
	w.want("plan", plan.Count, 31)
	w.want("queued", w.pass(placement.NewDrain(w.opt))["queued"], 31)
	w.replicate()
	for i := range 30 {
		w.want("copies", w.copies(fmt.Sprint("k", i)), "b")
		w.whole(fmt.Sprint("k", i), 100+i)
	}
	parts, err := w.db.Parts(w.ctx, u.ID, 0, 0)
	w.must(err)
	rows, err := w.db.BlobsByID(w.ctx, []lethe.ID{parts[0].BlobID})
	w.must(err)
	w.want("the part", rows[0].Backend, "b")
	if err := w.db.RemoveBackend(w.ctx, "a"); !errors.Is(err, lethe.ErrBackendInUse) {
		t.Errorf("removed with condemned and pending blobs: %v", err)
	}
	w.must(w.db.Abandon(w.ctx, pending.Blob, false))
	w.clean()
	w.must(w.db.RemoveBackend(w.ctx, "a"))
	w.want("bytes left", w.backends["a"].Len(), 0)
}

func TestDrainingKeepsTheFactor(t *testing.T) {
	w := newWorld(t, 2, threeDisks())
	w.put("a", "k", 3000)
	w.replicate()
	w.must(w.db.SetDraining(w.ctx, "b", true))
	w.pass(placement.NewDrain(w.opt))
	w.replicate()
	w.want("copies", w.copies("k"), "a c")
}

func TestDrainingTheLastBackendWaits(t *testing.T) {
	w := newWorld(t, 1, map[string]int64{"a": 0})
	w.put("a", "k", 3000)
	w.part("a", "m", 500)
	w.must(w.db.SetDraining(w.ctx, "a", true))
	w.pass(placement.NewDrain(w.opt))
	w.want("stuck", w.replicate()["stuck"], 2)
	w.want("copies", w.copies("k"), "a")
}

func TestRebalancingEvensOut(t *testing.T) {
	w := newWorld(t, 1, threeDisks())
	w.opt.Strategy = placement.Spread
	for i := range 60 {
		w.put("a", fmt.Sprint("k", i), kb)
	}
	w.put("b", "other", 10*kb)
	plan, err := placement.NewRebalance(w.opt).Plan(w.ctx)
	w.must(err)
	w.want("plan", plan.Bytes, 30*kb)
	for range 4 {
		w.pass(placement.NewRebalance(w.opt))
		w.replicate()
		w.clean()
	}
	used := map[string]int64{}
	for t := range w.db.EachTotal() {
		if t.Backend != ledger.InLedger {
			used[t.Backend] += t.Bytes
		}
	}
	for id, n := range used {
		if n < 17*kb || n > 30*kb {
			t.Errorf("%s holds %d bytes, %v", id, n, used)
		}
	}
	w.want("once more", w.pass(placement.NewRebalance(w.opt))["queued"], 0)
}

func TestRebalancingIsBounded(t *testing.T) {
	w := newWorld(t, 1, threeDisks())
	for i := range 60 {
		w.put("a", fmt.Sprint("k", i), kb)
	}
	w.opt.MaxMove = 5 * kb
	w.want("queued", w.pass(placement.NewRebalance(w.opt))["queued"], 5)
	counts := w.replicate()
	w.want("moved", counts["copies"], 5)
	w.want("condemned", counts["trimmed"], 5)
}

func TestAMoveThatIsNotNeededAnyMore(t *testing.T) {
	w := newWorld(t, 1, threeDisks())
	w.put("a", "k", 60*kb)
	w.pass(placement.NewRebalance(w.opt))
	_, err := w.db.AddBackend(w.ctx, ledger.Backend{ID: "a", Quota: 10000 * kb})
	w.must(err)
	w.want("moved", w.replicate()["copies"], 0)
	w.want("copies", w.copies("k"), "a")
}

func TestASurveyFindsWhatTheFactorLacks(t *testing.T) {
	w := newWorld(t, 1, threeDisks())
	for i := range 25 {
		w.put("a", fmt.Sprint("k", i), 100)
	}
	w.want("queued", w.pass(placement.NewSurvey(w.opt))["queued"], 0)
	w.opt.Replicas, w.opt.Page = 2, 7
	w.want("queued", w.pass(placement.NewSurvey(w.opt))["queued"], 25)
	w.replicate()
	w.want("copies", w.copies("k24"), "a b")
	w.want("queued", w.pass(placement.NewSurvey(w.opt))["queued"], 0)
}

func TestRoutinesOfTwoInstancesShareTheQueue(t *testing.T) {
	w := newWorld(t, 2, threeDisks())
	for i := range 20 {
		w.put("a", fmt.Sprint("k", i), 100)
	}
	w.opt.Claim = 3
	one, other := placement.NewReplicate(w.opt).Pass("one"), placement.NewReplicate(w.opt).Pass("other")
	made := int64(0)
	add := func(name string, n int64) {
		if name == "copies" {
			made += n
		}
	}
	for more := true; more; {
		a, err := one(w.ctx, add)
		w.must(err)
		b, err := other(w.ctx, add)
		w.must(err)
		more = a || b
	}
	w.want("copies", made, 20)
	w.clock.Advance(time.Hour)
	w.want("left", len(w.replicate()), 0)
}

// roomy is a store that reports how much room is left.
type roomy struct {
	blob.Store
	space
}

func TestWithoutQuotasDisksAreEvenedOut(t *testing.T) {
	w := newWorld(t, 1, map[string]int64{"a": 0, "b": 0})
	for i := range 60 {
		w.put("a", fmt.Sprint("k", i), kb)
	}
	w.want("queued when nobody knows the room", w.pass(placement.NewRebalance(w.opt))["queued"], 0)
	w.opt.Stores["a"], w.opt.Stores["b"] = roomy{w.opt.Stores["a"], 40 * kb}, roomy{w.opt.Stores["b"], 100 * kb}
	w.want("queued", w.pass(placement.NewRebalance(w.opt))["queued"], 30)
	if moved := w.replicate()["copies"]; moved == 0 {
		t.Error("nothing was moved")
	}
}
