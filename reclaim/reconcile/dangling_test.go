package reconcile_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/reconcile"
)

// TestDangling: a blob whose bytes are gone, or of another size, becomes suspect.
// Placement gets the one that has a copy, and for the others the objects are named.
func TestDangling(t *testing.T) {
	inModes(t, func(w *world) {
		copied, alone, short := w.put("copied", "has a copy", 2), w.put("alone", "has none", 1), w.put("short", "is cut", 1)
		for i := range 10 {
			w.put(fmt.Sprint("k", i), fmt.Sprint("body ", i), 1)
		}
		_, err := w.main.Delete(w.ctx, []string{w.key(copied), w.key(alone)})
		w.must(err)
		w.main.Set(w.key(short), []byte("is"))
		losses := map[lethe.ID]reconcile.Loss{}
		w.events.Dangling = func(l reconcile.Loss) { losses[l.Blob.ID] = l }
		w.want(w.run(), counts{reconcile.Missing: 2, reconcile.WrongSize: 1, reconcile.Healing: 1, reconcile.Lost: 2})
		for id, want := range map[lethe.ID]string{copied: "1 [b/copied]", alone: "0 [b/alone]", short: "0 [b/short]"} {
			row, _ := w.ledger.Blob(id)
			if have := fmt.Sprint(losses[id].Copies, " ", losses[id].Objects); !row.Suspect || have != want {
				w.Errorf("loss is %s, want %s; row is %+v", have, want, row)
			}
		}
		if b, err := w.ledger.PlaceBacklog(w.ctx); err != nil || b.Count != 3 {
			w.Errorf("placement's queue is %+v, %v", b, err)
		}
		for _, f := range w.found {
			if f.Kind == ledger.FoundMissing && f.Content != "" && strings.HasSuffix(f.Detail, "lost: b/alone") {
				return
			}
		}
		w.Errorf("found %+v", w.found)
	})
}

// TestHealed: what an earlier walk found missing, and of which there is a sound
// copy by now, is healed; what was deleted meanwhile is dropped.
func TestHealed(t *testing.T) {
	w := newWorld(t)
	copied, deleted := w.put("copied", "has a copy", 2), w.put("deleted", "has none", 1)
	_, err := w.main.Delete(w.ctx, []string{w.key(copied), w.key(deleted)})
	w.must(err)
	w.want(w.run(), counts{reconcile.Missing: 2, reconcile.Healing: 1, reconcile.Lost: 1})
	row, _ := w.ledger.Blob(copied)
	claimed, err := w.ledger.ClaimPlacements(w.ctx, ledger.PlacementClaim{Worker: "w", Limit: 9, Lease: time.Minute})
	w.must(err)
	for _, p := range claimed.Items {
		for _, b := range p.Blobs {
			if b.Backend == "spare" {
				_, err = w.ledger.MarkSound(w.ctx, []lethe.ID{b.ID}, 0)
				w.must(err)
			}
		}
	}
	_, err = w.ledger.TrimCopies(w.ctx, ledger.Trim{Content: row.ContentID, Blobs: []lethe.ID{copied}, Reason: lethe.ReasonDamaged, Fence: claimed.Fence, Lease: time.Minute})
	w.must(err)
	_, err = w.ledger.Delete(w.ctx, ledger.Deletion{Op: w.id(), Bucket: bucket, Items: []ledger.DeleteItem{{Key: "deleted"}}})
	w.must(err)
	w.later(time.Second)
	w.want(w.run(), counts{reconcile.Healed: 1})
	walks, err := w.ledger.Walks(w.ctx, "main", 1)
	w.must(err)
	list, err := w.ledger.Findings(w.ctx, ledger.FindingQuery{})
	w.must(err)
	if walks[0].Counts[reconcile.Healed] != 1 || walks[0].Outcome != "ok" || len(list) != 0 {
		w.Errorf("walk is %+v, findings are %+v", walks[0], list)
	}
}

// TestDeletedMeanwhile: a blob that is deleted between the listing and the look-up
// is not missing, nor is one that the listing did not show but that is there.
func TestDeletedMeanwhile(t *testing.T) {
	w := newWorld(t)
	gone, hidden := w.put("gone", "deleted", 1), w.put("hidden", "not listed", 1)
	data, _ := w.main.Bytes(w.key(hidden))
	_, err := w.main.Delete(w.ctx, []string{w.key(gone), w.key(hidden)})
	w.must(err)
	w.fault = func(c blobtest.Call) blobtest.Fault {
		if c.Op == blobtest.OpStat && c.Keys[0] == w.key(hidden) {
			w.main.Set(w.key(hidden), data)
		}
		if c.Op == blobtest.OpStat && c.Keys[0] == w.key(gone) {
			_, err := w.ledger.Delete(w.ctx, ledger.Deletion{Op: w.id(), Bucket: bucket, Items: []ledger.DeleteItem{{Key: "gone"}}})
			w.must(err)
		}
		return blobtest.Fault{}
	}
	w.want(w.run(), counts{})
}

// TestNoAnswer: a look that fails proves nothing.
func TestNoAnswer(t *testing.T) {
	w := newWorld(t)
	id := w.put("k", "body", 1)
	_, err := w.main.Delete(w.ctx, []string{w.key(id)})
	w.must(err)
	w.fault = func(c blobtest.Call) blobtest.Fault {
		if c.Op == blobtest.OpStat {
			return blobtest.Fault{Kind: blobtest.NotDone}
		}
		return blobtest.Fault{}
	}
	got, err := w.try()
	if err == nil {
		w.Fatal("no error")
	}
	w.want(got, counts{})
}
