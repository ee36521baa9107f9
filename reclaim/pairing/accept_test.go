package pairing_test

import (
	"testing"

	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/ledger"
)

// failAccept accepts the backend in vain: writes of what is not there yet meet a fault.
// It returns what is still under way.
func (f *fork) failAccept(kind blobtest.Kind) (late []*blobtest.Pending) {
	f.w.Helper()
	f.w.Fault = func(c blobtest.Call) blobtest.Fault {
		if c.Op != blobtest.OpPut {
			return blobtest.Fault{}
		}
		if _, err := f.w.Bytes.Stat(f.w.Ctx, c.Keys[0]); err == nil {
			return blobtest.Fault{}
		}
		return blobtest.Fault{Kind: kind}
	}
	if err := f.pairing.Accept(f.w.Ctx, "main"); err == nil {
		f.w.Error("accepted although the write failed")
	}
	f.w.Fault = func(blobtest.Call) blobtest.Fault { return blobtest.Fault{} }
	return f.w.Stores["main"].(*blobtest.Faulty).Late()
}

// drawing has the pairing draw the largest step first, and small ones from then on.
func (f *fork) drawing() {
	first := true
	f.pairing.Draw = func(n int64) int64 {
		if !first {
			return 0
		}
		first = false
		return n - 1
	}
}

// heldFor makes an original whose backend is held.
func (w *world) heldFor(why ledger.HeldFor) *fork {
	w.Helper()
	f := w.fork(w.Ledger)
	w.Must(f.pairing.Advance(w.Ctx, "main"))
	switch why {
	case ledger.HeldForLedger:
		w.Usurp(1)
		_ = f.pairing.Check(w.Ctx, "main") // it holds, and challenges
	case ledger.HeldForAbsence:
		w.Hold("main", ledger.BackendHold{For: why, Reason: "no epoch"})
	default:
		w.Hold("main", ledger.BackendHold{For: why, Reason: "maintenance"})
	}
	if got := f.row().HeldFor; got != why {
		w.Fatalf("held for %q, want %q", got, why)
	}
	return f
}

// A write of an acceptance that is reported as failed may land at any time. It is not
// taken for another ledger's: not before the acceptance is repeated, and not after it.
func TestAnAcceptanceThatLandsLate(t *testing.T) {
	for _, why := range []ledger.HeldFor{ledger.HeldForLedger, ledger.HeldByPerson} {
		for lands := range 3 { // before the second acceptance, after it, and after an advance
			w := newWorld(t)
			f := w.heldFor(why)
			f.drawing()
			late := f.failAccept(blobtest.Late)
			land := func(at int) {
				if at == lands {
					w.Must(late[0].Release(w.Ctx))
				}
			}
			land(0)
			_ = f.pairing.Check(w.Ctx, "main")
			if got := f.row().HeldFor; got != why {
				t.Errorf("held for %q, landed %d: is held for %q after a look", why, lands, got)
			}
			w.Must(f.pairing.Accept(w.Ctx, "main"))
			land(1)
			w.Must(f.pairing.Check(w.Ctx, "main"))
			w.Must(f.pairing.Advance(w.Ctx, "main"))
			land(2)
			f.later(2 * beat)
			f.admits("accepted", nil)
			w.Must(f.pairing.Advance(w.Ctx, "main"))
			if b := f.row(); b.Held != "" || b.Accepted == 0 {
				t.Errorf("held for %q, landed %d: %+v", why, lands, b)
			}
		}
	}
}

// An acceptance of another disk that failed does not keep the right one, once it is
// mounted again, from being released.
func TestAnAcceptanceInVainOfAnotherDisk(t *testing.T) {
	w := newWorld(t)
	f := w.fork(w.Ledger)
	w.Must(f.pairing.Advance(w.Ctx, "main"))
	disk, none := w.Stores["main"], memblob.New(memblob.Options{})
	w.Stores["main"] = blobtest.NewFaulty(none, func(c blobtest.Call) blobtest.Fault { return w.Fault(c) })
	_ = f.pairing.Check(w.Ctx, "main")
	f.failAccept(blobtest.DoneError)
	_ = f.pairing.Check(w.Ctx, "main")
	if got := f.row().HeldFor; got != ledger.HeldForAbsence {
		t.Errorf("another disk, not accepted: held for %q", got)
	}
	w.Stores["main"] = disk
	w.Must(f.pairing.Advance(w.Ctx, "main"))
	f.later(2 * beat)
	f.admits("the right disk", nil)
}

// An advance that was interrupted is completed before an acceptance notes its epoch: if
// that fails as well, neither of the two is taken for another ledger's.
func TestAnAcceptanceAfterAnInterruptedAdvance(t *testing.T) {
	w := newWorld(t)
	f := w.fork(w.Ledger)
	w.Must(f.pairing.Advance(w.Ctx, "main"))
	w.Fault = func(c blobtest.Call) blobtest.Fault {
		if c.Op == blobtest.OpPut {
			return blobtest.Fault{Kind: blobtest.DoneError}
		}
		return blobtest.Fault{}
	}
	if err := f.pairing.Advance(w.Ctx, "main"); err == nil {
		t.Fatal("advanced although the answer was lost")
	}
	w.Hold("main", ledger.BackendHold{For: ledger.HeldByPerson, Reason: "maintenance"})
	f.failAccept(blobtest.NotDone)
	f.failAccept(blobtest.NotDone)
	_ = f.pairing.Check(w.Ctx, "main")
	if got := f.row().HeldFor; got != ledger.HeldByPerson {
		t.Errorf("after acceptances that failed it is held for %q", got)
	}
	w.Must(f.pairing.Accept(w.Ctx, "main"))
	w.Must(f.pairing.Check(w.Ctx, "main"))
}
