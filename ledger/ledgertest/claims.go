package ledgertest

import (
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// claimsEnded: with a process go its claims on blobs, contents and events, and no others.
func claimsEnded(w *world) {
	w.notify()
	corpses := w.corpses(2)
	w.put("k", "body")
	w.put("l", "other")
	w.put("m", "third")
	deletes := must(w.ClaimCondemned(w.ctx, ledger.ClaimRequest{Worker: "gone/0", Backend: disk, Limit: 1}))(w)
	kept := must(w.ClaimCondemned(w.ctx, ledger.ClaimRequest{Worker: "gone2/0", Backend: disk, Limit: 1}))(w)
	place := func(worker string) ledger.Placements {
		return must(w.ClaimPlacements(w.ctx, ledger.PlacementClaim{Worker: worker, Limit: 1, Lease: lease}))(w)
	}
	theirs, waits, other := place("gone"), place("gone"), place("alive")
	later := ledger.PlacementResult{ID: waits.Items[0].ID, RetryAt: w.now().Add(time.Minute), Error: "no room"}
	equal(w, "fenced", must(w.SettlePlacements(w.ctx, waits.Fence, []ledger.PlacementResult{later}))(w), 0)
	claim := func(worker string) ledger.ClaimedEvents {
		return must(w.ClaimEvents(w.ctx, ledger.EventClaim{Target: "app", Worker: worker, Limit: 1, Lease: time.Minute}))(w)
	}
	told, keeps := claim("gone/1"), claim("gone10/1")

	ended := must(w.EndClaims(w.ctx, "gone"))(w)
	if len(ended.Blobs) != 1 || ended.Blobs[0] != (ledger.Recovered{Backend: disk, State: lethe.Condemned, Claims: 1}) || ended.Placements != 1 || ended.Events != 1 {
		w.Fatalf("ended %+v", ended)
	}
	ended = must(w.EndClaims(w.ctx, "gone"))(w)
	if len(ended.Blobs) != 0 || ended.Placements != 0 || ended.Events != 0 {
		w.Fatalf("ended again %+v", ended)
	}
	equal(w, "fenced", w.settle(deletes, ledger.SettleItem{Result: ledger.Gone}).Fenced, 1)
	w.fails(w.KeepPlacement(w.ctx, theirs.Items[0].ID, theirs.Fence, lease), lethe.ErrFenced)
	equal(w, "fenced", w.settleEvents(told, ledger.EventResult{Outcome: ledger.EventDelivered}).Fenced, 1)
	equal(w, "settled", w.settle(kept, ledger.SettleItem{Result: ledger.Gone}).Gone, 1)
	w.ok(w.KeepPlacement(w.ctx, other.Items[0].ID, other.Fence, lease))
	equal(w, "settled", w.settleEvents(keeps, ledger.EventResult{Outcome: ledger.EventDelivered}).Delivered, 1)

	again := w.claim()
	equal(w, "due", again.Blobs[0].ID, deletes.Blobs[0].ID)
	equal(w, "corpse", corpses[0], deletes.Blobs[0].ID)
	equal(w, "due", place("next").Items[0].ID, theirs.Items[0].ID)
	equal(w, "due", claim("next").Events[0].No, told.Events[0].No)
	ended = must(w.EndClaims(w.ctx, ""))(w)
	if len(ended.Blobs) != 1 || ended.Placements != 2 || ended.Events != 1 {
		w.Fatalf("ended of all %+v", ended)
	}
}
