package reclaim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/memledger"
	"github.com/lethe-storage/lethe/receipt"
	"github.com/lethe-storage/lethe/reclaim"
)

// seals runs the routine of receipts, and returns the seals that it made.
func (w *world) seals(keep time.Duration) (made []receipt.Seal) {
	w.Helper()
	w.pass(&reclaim.Receipts{
		Ledger: w.ledger, Store: w.store, Keep: keep, Safety: w.safety,
		Events: &reclaim.Events{Sealed: func(s receipt.Seal) { made = append(made, s) }},
	})
	return made
}

const month = 30 * 24 * time.Hour

// Receipts of deletions are sealed when they have waited long enough, and dropped
// when they are old.
func TestReceiptsAreSealed(t *testing.T) {
	w := newWorld(t)
	w.put("a", "bytes of a")
	w.remove("a")
	want(w, "seals at once", len(w.seals(month)), 0)
	w.clock.Advance(w.safety.SealAfter)
	made := w.seals(month)
	if len(made) != 1 || made[0].Count != 1 {
		t.Fatalf("sealed %+v", made)
	}
	head, err := w.ledger.ReceiptHead(w.ctx)
	w.must(err)
	want(w, "head", head, made[0].Head())
	w.clock.Advance(month)
	w.seals(month)
	list, err := w.ledger.Receipts(w.ctx, receipt.OfObject("b", "a"))
	w.must(err)
	want(w, "receipts after their time", len(list), 0)
	w.clock.Advance(time.Minute)
	w.put("b", "bytes of b")
	w.remove("b")
	w.clock.Advance(w.safety.SealAfter)
	want(w, "seals after the anchor", len(w.seals(month)), 1)
	want(w, "problems", len(w.check(false)), 0)
}

// A batch of many is sealed without waiting.
func TestManyReceiptsAreSealedAtOnce(t *testing.T) {
	w := newWorld(t)
	for i := range 10_000 {
		c := w.commit(string(rune(i+0x4e00)), "", "")
		c.Blobs, c.Content, c.TTL = nil, ledger.ContentKey{}, time.Minute
		_, err := w.ledger.Commit(w.ctx, c)
		w.must(err)
	}
	w.clock.Advance(time.Hour)
	_, err := w.ledger.Expire(w.ctx, ledger.Batch{})
	w.must(err)
	made := w.seals(month)
	if len(made) != 1 || made[0].Count != 10_000 {
		t.Fatalf("sealed %+v", made)
	}
}

// forging is a ledger whose sealed receipts were rewritten.
type forging struct {
	*memledger.DB
	pages func(seq int64, pages []receipt.Page) []receipt.Page
}

func (f forging) ReceiptPages(ctx context.Context, seq int64) ([]receipt.Page, error) {
	pages, err := f.DB.ReceiptPages(ctx, seq)
	return f.pages(seq, pages), err
}

// chain is so many segments.
func (w *world) chain(n int) {
	w.Helper()
	for range n {
		w.put("k", "")
		w.remove("k")
		w.clock.Advance(w.safety.SealAfter)
		want(w, "seals", len(w.seals(month)), 1)
	}
}

// verify checks a ledger with a verifier that may have checked before.
func (w *world) verify(v *reclaim.Verify, l reclaim.VerifyLedger) (found []reclaim.Problem) {
	w.Helper()
	v.Ledger, v.Report = l, func(p reclaim.Problem) { found = append(found, p) }
	w.pass(v)
	return found
}

func TestVerifyFindsForgedReceipts(t *testing.T) {
	w := newWorld(t)
	w.chain(3)
	v := &reclaim.Verify{Store: w.store}
	want(w, "problems", len(w.verify(v, w.ledger)), 0)
	forged := forging{w.ledger, func(seq int64, pages []receipt.Page) []receipt.Page {
		if seq == 2 {
			pages[0].Body = []byte("{}\n")
		}
		return pages
	}}
	found := w.verify(v, forged)
	w.one(found, "receipts")
	want(w, "place", found[0].Name, "seal 2")
}

// A chain that is sound in itself is still not the one that was checked before.
func TestVerifyRemembersTheHead(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	w.chain(2)
	other.chain(1)
	v := &reclaim.Verify{Store: w.store}
	want(w, "problems", len(w.verify(v, w.ledger)), 0)
	v.Store = other.store
	w.one(w.verify(v, other.ledger), "receipts") // cut short
	other.chain(1)
	w.one(w.verify(v, other.ledger), "receipts") // rewritten
}

// A chain that begins after what was checked before, and not for its age, may be
// any chain.
func TestVerifyMissesTheHead(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		found int
	}{{24 * time.Hour, 1}, {month, 0}} {
		w := newWorld(t)
		w.chain(1)
		v := &reclaim.Verify{Store: w.store, Keep: month, Clock: w.clock}
		want(w, "problems", len(w.verify(v, w.ledger)), 0)
		w.chain(2)
		w.clock.Advance(c.after)
		_, err := w.ledger.DropReceipts(w.ctx, time.Second, 2)
		w.must(err)
		for range 2 { // it does not forget what it has noted
			want(w, "problems after "+c.after.String(), len(w.verify(v, w.ledger)), c.found)
		}
	}
}

// behind is a ledger that has seen a later time than the machine's clock shows.
type behind struct{ *memledger.DB }

func (behind) ClockBehind() time.Duration { return time.Hour }

// While the clock is in doubt receipts are sealed, and none is dropped by age.
func TestNoReceiptIsDroppedByAClockInDoubt(t *testing.T) {
	w := newWorld(t)
	w.chain(1)
	w.put("k", "")
	w.remove("k")
	w.clock.Advance(month)
	step := (&reclaim.Receipts{Ledger: w.ledger, Age: behind{w.ledger}, Store: w.store, Keep: time.Hour, Safety: w.safety}).Pass("w")
	var err error
	for more := true; more && err == nil; {
		more, err = step(w.ctx, &reclaim.Counts{})
	}
	if !errors.Is(err, lethe.ErrClock) {
		t.Errorf("answered %v", err)
	}
	seals, err := w.ledger.Seals(w.ctx, 0, 10)
	w.must(err)
	if len(seals) != 2 || seals[0].Dropped {
		t.Errorf("the chain is %+v", seals)
	}
}

// Segments that are dropped by their age while the chain is walked are no break.
func TestChainWalkBesideDrops(t *testing.T) {
	for at, checked := range []int64{1, 1, 1, 4} {
		w := newWorld(t)
		w.chain(4)
		dropped := false
		l := forging{w.ledger, func(seq int64, pages []receipt.Page) []receipt.Page { return pages }}
		l.pages = func(seq int64, pages []receipt.Page) []receipt.Page {
			if seq != int64(at)+1 || dropped {
				return pages
			}
			dropped = true
			n, err := w.ledger.DropReceipts(w.ctx, 2*w.safety.SealAfter, 100)
			w.must(err)
			want(w, "dropped", n, 3)
			again, err := w.ledger.ReceiptPages(w.ctx, seq)
			w.must(err)
			return again
		}
		walk := reclaim.ChainWalk{Ledger: l, Store: w.store}
		var head receipt.Head
		var err error
		for more := true; more && err == nil; {
			head, more, err = walk.Next(w.ctx)
		}
		if err != nil || head.Seq != 4 || walk.Checked().Segments != checked {
			t.Errorf("dropped at segment %d: head %+v, %d segments, %v", at+1, head, walk.Checked().Segments, err)
		}
	}
}

// What a run deletes is recorded as the run's, with the operator who started it.
func TestReceiptsNameTheRun(t *testing.T) {
	w := newWorld(t)
	c := w.commit("k", "", "")
	c.Blobs, c.Content, c.TTL = nil, ledger.ContentKey{}, time.Minute
	_, err := w.ledger.Commit(w.ctx, c)
	w.must(err)
	w.clock.Advance(time.Hour)
	expire := &reclaim.Expire{Ledger: w.ledger, Drop: func(context.Context, []lethe.ID) {}}
	_, err = w.loop(reclaim.Scheduled{Routine: expire}).Once(lethe.WithCaller(w.ctx, lethe.Caller{Key: "operator"}), []string{"expire"})
	w.must(err)
	list, err := w.ledger.Receipts(w.ctx, receipt.OfObject("b", "k"))
	w.must(err)
	if len(list) != 1 || list[0].By.Key != "operator" || list[0].By.Run == "" {
		t.Fatalf("receipts are %+v", list)
	}
	last, _, err := w.ledger.LastRuns(w.ctx)
	w.must(err)
	want(w, "recorded run", last["expire"].ID, list[0].By.Run)
}
