package reconcile_test

import (
	"context"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/plan"
	"github.com/lethe-storage/lethe/reclaim/reconcile"
)

// restored makes runs take the ledger for a restored one, whose copies a drain moved from main.
func restored(t *testing.T) *world {
	w := newWorld(t)
	w.set = func(o *reconcile.Options) {
		o.Misses = func(context.Context) (string, error) { return "it was restored", nil }
	}
	w.pairing.Boot = w.clock
	for id := range w.stores {
		w.must(w.pairing.Advance(w.ctx, id))
	}
	w.later(2 * reclaim.Safety{}.WithDefaults().Beat) // no other ledger was seen
	return w
}

// moved moves a blob to spare as a drain does, in a ledger that is not this one.
func (w *world) moved(id lethe.ID, body string) (to lethe.ID) {
	w.Helper()
	_, err := w.main.Delete(w.ctx, []string{w.key(id)})
	w.must(err)
	to = w.id()
	w.spare.Set(w.key(to), []byte(body))
	return to
}

// TestMovedBytesAreTaken: of two orphans of one size, the one with the bytes becomes the copy.
func TestMovedBytesAreTaken(t *testing.T) {
	w := restored(t)
	w.put("a", "moved", 1)
	other := w.id()
	w.spare.Set(w.key(other), []byte("other"))
	lost := w.put("b", "bytes", 1)
	found := w.moved(lost, "bytes")
	var told []lethe.ID
	w.events.Taken = func(ch reconcile.Change) { told = append(told, ch.For) }
	have := w.run()
	w.want(have, counts{reconcile.Orphans: 2, reconcile.HeldBack: 2, reconcile.Missing: 1, reconcile.Lost: 1, reconcile.Taken: 1})
	row, _ := w.ledger.Blob(found)
	if row.State != lethe.Live || row.Backend != "spare" || row.VerifiedAt == 0 || w.state(other) != 0 || len(told) != 1 || told[0] != lost {
		t.Errorf("the copy is %+v, %v were told", row, told)
	}
	w.want(w.run(), counts{reconcile.Orphans: 1, reconcile.HeldBack: 1, reconcile.Missing: 1, reconcile.Healing: 1})
}

// TestTwoLostBlobsOfOneDigest: each takes an orphan of its own.
func TestTwoLostBlobsOfOneDigest(t *testing.T) {
	w := restored(t)
	_, err := w.ledger.CreateBucket(w.ctx, ledger.Bucket{Name: "theirs", Owner: "they"})
	w.must(err)
	one := w.put("a", "bytes", 1)
	two, _ := w.putIn("theirs", "a", "bytes")
	w.moved(one, "bytes")
	w.moved(two, "bytes")
	w.want(w.run(), counts{reconcile.Orphans: 2, reconcile.HeldBack: 2, reconcile.Missing: 2, reconcile.Lost: 2, reconcile.Taken: 2})
}

// TestNothingIsTakenUnasked: not while deletes on the backend are held, by a dry run, by an apply
// of something else, or where the ledger misses nothing.
func TestNothingIsTakenUnasked(t *testing.T) {
	w := restored(t)
	id := w.moved(w.put("a", "bytes", 1), "bytes")
	w.must(w.ledger.HoldBackend(w.ctx, "spare", "why"))
	w.want(w.run(), counts{reconcile.Orphans: 1, reconcile.HeldBack: 1, reconcile.Missing: 1, reconcile.Lost: 1})
	w.must(w.ledger.HoldBackend(w.ctx, "spare", ""))
	set := w.set
	w.set = func(o *reconcile.Options) { set(o); o.Chosen = map[reconcile.Place]bool{} }
	w.want(w.run(), counts{reconcile.Orphans: 1, reconcile.HeldBack: 1, reconcile.Missing: 1, reconcile.Lost: 1})
	w.set = func(*reconcile.Options) {}
	w.want(w.run(), counts{reconcile.Orphans: 1, reconcile.Missing: 1, reconcile.Lost: 1})
	w.set = func(o *reconcile.Options) { set(o); o.DryRun = true }
	w.want(w.run(), counts{reconcile.Orphans: 1, reconcile.Missing: 1, reconcile.Lost: 1, reconcile.WouldTake: 1})
	w.set = set
	var items []plan.Item
	w.must(w.routine().Items(w.ctx, func(i plan.Item) error { items = append(items, i); return nil }))
	if len(items) != 1 || items[0].ID != w.key(id) || items[0].Frees != 0 || w.state(id) != 0 {
		t.Fatalf("planned %+v", items)
	}
	done, err := w.routine().Apply(w.ctx, "", items, (&reclaim.Counts{}).Add)
	w.must(err)
	if done[0].Outcome != plan.Done || w.state(id) != lethe.Live {
		t.Errorf("applied %+v", done)
	}
}

// TestWhatIsToBeTakenIsNotCondemned: a plan names an orphan as the copy of a lost blob, and nothing is
// lost when it is applied.
func TestWhatIsToBeTakenIsNotCondemned(t *testing.T) {
	w := restored(t)
	id := w.moved(w.put("a", "bytes", 1), "bytes")
	set := w.set
	w.set = func(*reconcile.Options) {}
	w.run()
	w.set = set
	var items []plan.Item
	w.must(w.routine().Items(w.ctx, func(i plan.Item) error { items = append(items, i); return nil }))
	w.set = func(*reconcile.Options) {}
	w.later(49 * time.Hour)
	done, err := w.routine().Apply(w.ctx, "", items, (&reclaim.Counts{}).Add)
	w.must(err)
	if len(done) != 1 || done[0].Outcome == plan.Done || w.state(id) != 0 {
		t.Errorf("applied %+v, state %v", done, w.state(id))
	}
	w.want(w.run(), counts{reconcile.Orphans: 1, reconcile.Condemned: 1, reconcile.Missing: 1, reconcile.Lost: 1})
}

// TestNoBackendIsNothingToDo: nor is a pass that has ended.
func TestNoBackendIsNothingToDo(t *testing.T) {
	step := reconcile.New(reconcile.Options{}).Pass("")
	for range 2 {
		if more, err := step(t.Context(), (&reclaim.Counts{}).Add); more || err != nil {
			t.Errorf("%v, %v", more, err)
		}
	}
}

// TestNothingIsTakenSoonAfterAcceptance: deletes that were sent before may land until the wait is over.
func TestNothingIsTakenSoonAfterAcceptance(t *testing.T) {
	w := restored(t)
	set := w.set
	w.set = func(o *reconcile.Options) { set(o); o.Wait = time.Hour }
	w.moved(w.put("a", "bytes", 1), "bytes")
	w.must(w.pairing.Accept(w.ctx, "spare"))
	w.later(59 * time.Minute)
	w.must(w.pairing.Advance(w.ctx, "spare"))
	w.want(w.run(), counts{reconcile.Orphans: 1, reconcile.HeldBack: 1, reconcile.Missing: 1, reconcile.Lost: 1})
	w.later(time.Minute)
	w.want(w.run(), counts{reconcile.Orphans: 1, reconcile.HeldBack: 1, reconcile.Missing: 1, reconcile.Lost: 1, reconcile.Taken: 1})
}

// TestOrphansAreReadOnce: while a blob stays lost, runs of one routine read each orphan of its size once.
func TestOrphansAreReadOnce(t *testing.T) {
	w := restored(t)
	reads := 0
	w.stores["spare"] = blobtest.NewFaulty(w.spare, func(c blobtest.Call) blobtest.Fault {
		if c.Op == blobtest.OpGet {
			reads++
		}
		return blobtest.Fault{}
	})
	_, err := w.main.Delete(w.ctx, []string{w.key(w.put("a", "bytes", 1))})
	w.must(err)
	w.spare.Set(w.key(w.id()), []byte("other"))
	r := w.routine()
	for range 3 {
		_, err := w.pass(r)
		w.must(err)
	}
	if reads != 1 {
		t.Errorf("the orphan was read %d times", reads)
	}
}
