package pairing_test

import (
	"errors"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
)

// leave drains the backend and removes it from the ledger.
func (f *fork) leave() {
	f.w.Helper()
	f.w.Must(f.SetDraining(f.w.Ctx, "main", true))
	f.w.Must(f.pairing.Leave(f.w.Ctx, "main", f.RemoveBackend))
}

// register registers the backend again, as a process does that starts with it.
func (f *fork) register() {
	f.w.Helper()
	_, err := f.AddBackend(f.w.Ctx, ledger.Backend{ID: "main"})
	f.w.Must(err)
	f.start()
}

// A backend that was removed and is registered again is not taken for one of another ledger,
// for which everything would wait, on all backends.
func TestARemovedBackendComesBack(t *testing.T) {
	w := newWorld(t)
	f := w.fork(w.Ledger)
	w.Must(f.pairing.Advance(w.Ctx, "main"))
	w.Must(f.pairing.Advance(w.Ctx, "main"))
	f.leave()
	f.register()
	w.Must(f.pairing.Advance(w.Ctx, "main"))
	w.Must(f.pairing.Confirmed(w.Ctx))
	w.Must(f.pairing.Admit(w.Ctx, "main"))
}

// A removal that is refused leaves the epochs, and one of a backend that another ledger uses.
func TestEpochsThatStay(t *testing.T) {
	w := newWorld(t)
	f := w.fork(w.Ledger)
	w.Must(f.pairing.Advance(w.Ctx, "main"))
	if err := f.pairing.Leave(w.Ctx, "main", f.RemoveBackend); !errors.Is(err, lethe.ErrBackendInUse) {
		t.Fatalf("a backend that is not drained: %v", err)
	}
	w.Must(f.pairing.Check(w.Ctx, "main"))
	w.Usurp(1)
	f.leave()
	f.register()
	if err := f.pairing.Check(w.Ctx, "main"); !errors.Is(err, lethe.ErrBackendMismatch) {
		t.Errorf("the epoch of another ledger went: %v", err)
	}
}

// A copy of the ledger does not take the backend for its own, whatever the original left there.
func TestACopyOfARemovedBackendWaits(t *testing.T) {
	w := newWorld(t)
	original, copied := w.pair()
	original.leave()
	waits := func(when string) {
		t.Helper()
		if err := copied.pairing.Check(w.Ctx, "main"); !errors.Is(err, lethe.ErrBackendMismatch) {
			t.Errorf("the copy %s: %v", when, err)
		}
	}
	waits("after the removal")
	original.register()
	w.Must(original.pairing.Advance(w.Ctx, "main"))
	waits("after the original came back")
}

// A backend that does not answer is removed all the same.
func TestABackendThatDoesNotAnswerLeaves(t *testing.T) {
	w := newWorld(t)
	f := w.fork(w.Ledger)
	w.Must(f.pairing.Advance(w.Ctx, "main"))
	w.Fault = func(blobtest.Call) blobtest.Fault { return blobtest.Fault{Kind: blobtest.Down} }
	f.leave()
	if list, err := f.Backends(w.Ctx); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}
