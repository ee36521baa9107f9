package routine_test

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
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/test/reclaimtest"
)

// seals runs the routine of receipts, and returns the seals that it made.
func (w *world) seals(keep time.Duration) (made []receipt.Seal) {
	w.Helper()
	w.Pass(&routine.Receipts{
		Ledger: w.Ledger, Store: w.Store, Keep: keep, Safety: w.Safety,
		Events: &reclaim.Events{Sealed: func(s receipt.Seal) { made = append(made, s) }},
	})
	return made
}

const month = 30 * 24 * time.Hour

// Receipts of deletions are sealed when they have waited long enough, and dropped
// when they are old.
func TestReceiptsAreSealed(t *testing.T) {
	w := newWorld(t)
	w.Put("a", "bytes of a")
	w.Remove("a")
	reclaimtest.Want(w, "seals at once", len(w.seals(month)), 0)
	w.Clock.Advance(w.Safety.SealAfter)
	made := w.seals(month)
	if len(made) != 1 || made[0].Count != 1 {
		t.Fatalf("sealed %+v", made)
	}
	w.Clock.Advance(month)
	w.seals(month)
	list, err := w.Ledger.Receipts(w.Ctx, receipt.OfObject("b", "a"))
	w.Must(err)
	reclaimtest.Want(w, "receipts after their time", len(list), 0)
	w.Clock.Advance(time.Minute)
	w.Put("b", "bytes of b")
	w.Remove("b")
	w.Clock.Advance(w.Safety.SealAfter)
	reclaimtest.Want(w, "seals after the anchor", len(w.seals(month)), 1)
	reclaimtest.Want(w, "problems", len(w.check(false)), 0)
}

// A batch of many is sealed without waiting.
func TestManyReceiptsAreSealedAtOnce(t *testing.T) {
	w := newWorld(t)
	for i := range 10_000 {
		c := w.Commit(string(rune(i+0x4e00)), "", "")
		c.Blobs, c.Content, c.TTL = nil, ledger.ContentKey{}, time.Minute
		_, err := w.Ledger.Commit(w.Ctx, c)
		w.Must(err)
	}
	w.Clock.Advance(time.Hour)
	_, err := w.Ledger.Expire(w.Ctx, ledger.Batch{})
	w.Must(err)
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
		w.Put("k", "")
		w.Remove("k")
		w.Clock.Advance(w.Safety.SealAfter)
		reclaimtest.Want(w, "seals", len(w.seals(month)), 1)
	}
}

// verify checks a ledger with a verifier that may have checked before.
func (w *world) verify(v *routine.Verify, l routine.VerifyLedger) (found []reclaim.Problem) {
	w.Helper()
	v.Ledger, v.Report = l, func(p reclaim.Problem) { found = append(found, p) }
	w.Pass(v)
	return found
}

func TestVerifyFindsForgedReceipts(t *testing.T) {
	w := newWorld(t)
	w.chain(3)
	v := &routine.Verify{Store: w.Store}
	reclaimtest.Want(w, "problems", len(w.verify(v, w.Ledger)), 0)
	forged := forging{w.Ledger, func(seq int64, pages []receipt.Page) []receipt.Page {
		if seq == 2 {
			pages[0].Body = []byte("{}\n")
		}
		return pages
	}}
	found := w.verify(v, forged)
	w.one(found, "receipts")
	reclaimtest.Want(w, "place", found[0].Name, "seal 2")
}

// A chain that is sound in itself is still not the one that was checked before.
func TestVerifyRemembersTheHead(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	w.chain(2)
	other.chain(1)
	v := &routine.Verify{Store: w.Store}
	reclaimtest.Want(w, "problems", len(w.verify(v, w.Ledger)), 0)
	v.Store = other.Store
	w.one(w.verify(v, other.Ledger), "receipts") // cut short
	other.chain(1)
	w.one(w.verify(v, other.Ledger), "receipts") // rewritten
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
		v := &routine.Verify{Store: w.Store, Keep: month, Clock: w.Clock}
		reclaimtest.Want(w, "problems", len(w.verify(v, w.Ledger)), 0)
		w.chain(2)
		w.Clock.Advance(c.after)
		_, err := w.Ledger.DropReceipts(w.Ctx, time.Second, 2)
		w.Must(err)
		for range 2 { // it does not forget what it has noted
			reclaimtest.Want(w, "problems after "+c.after.String(), len(w.verify(v, w.Ledger)), c.found)
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
	w.Put("k", "")
	w.Remove("k")
	w.Clock.Advance(month)
	step := (&routine.Receipts{Ledger: w.Ledger, Age: behind{w.Ledger}, Store: w.Store, Keep: time.Hour, Safety: w.Safety}).Pass("w")
	var err error
	for more := true; more && err == nil; {
		more, err = step(w.Ctx, func(string, int64) {})
	}
	if !errors.Is(err, lethe.ErrClock) {
		t.Errorf("answered %v", err)
	}
	seals, err := w.Ledger.Seals(w.Ctx, 0, 10)
	w.Must(err)
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
		l := forging{w.Ledger, func(seq int64, pages []receipt.Page) []receipt.Page { return pages }}
		l.pages = func(seq int64, pages []receipt.Page) []receipt.Page {
			if seq != int64(at)+1 || dropped {
				return pages
			}
			dropped = true
			n, err := w.Ledger.DropReceipts(w.Ctx, 2*w.Safety.SealAfter, 100)
			w.Must(err)
			reclaimtest.Want(w, "dropped", n, 3)
			again, err := w.Ledger.ReceiptPages(w.Ctx, seq)
			w.Must(err)
			return again
		}
		walk := routine.ChainWalk{Ledger: l, Store: w.Store}
		var head receipt.Head
		var err error
		for more := true; more && err == nil; {
			head, more, err = walk.Next(w.Ctx)
		}
		if err != nil || head.Seq != 4 || walk.Checked().Segments != checked {
			t.Errorf("dropped at segment %d: head %+v, %d segments, %v", at+1, head, walk.Checked().Segments, err)
		}
	}
}

// What a run deletes is recorded as the run's, with the operator who started it.
func TestReceiptsNameTheRun(t *testing.T) {
	w := newWorld(t)
	c := w.Commit("k", "", "")
	c.Blobs, c.Content, c.TTL = nil, ledger.ContentKey{}, time.Minute
	_, err := w.Ledger.Commit(w.Ctx, c)
	w.Must(err)
	w.Clock.Advance(time.Hour)
	expire := &routine.Expire{Ledger: w.Ledger, Drop: func(context.Context, []lethe.ID) {}}
	_, err = w.Loop(reclaim.Scheduled{Routine: expire}).Once(lethe.WithCaller(w.Ctx, lethe.Caller{Key: "operator"}), []string{"expire"})
	w.Must(err)
	list, err := w.Ledger.Receipts(w.Ctx, receipt.OfObject("b", "k"))
	w.Must(err)
	if len(list) != 1 || list[0].By.Key != "operator" || list[0].By.Run == "" {
		t.Fatalf("receipts are %+v", list)
	}
	last, _, err := w.Ledger.LastRuns(w.Ctx)
	w.Must(err)
	reclaimtest.Want(w, "recorded run", last["expire"].ID, list[0].By.Run)
}
