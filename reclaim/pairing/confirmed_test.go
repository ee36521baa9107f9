package pairing_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/ledger"
)

// A ledger that is older than its backends is found out before the first step, and
// one whose backends do not answer waits for the first that does.
func TestBackendsAreAskedBeforeTheFirstStep(t *testing.T) {
	w := newWorld(t)
	w.Must(w.Pairing().Advance(w.Ctx, "main"))
	g := w.Pairing()
	w.Fault = func(blobtest.Call) blobtest.Fault { return blobtest.Fault{Kind: blobtest.Down} }
	if err := g.Confirmed(w.Ctx); err == nil || errors.Is(err, lethe.ErrBackendMismatch) {
		t.Errorf("nobody can tell: %v", err)
	}
	w.Fault = func(blobtest.Call) blobtest.Fault { return blobtest.Fault{} }
	w.Usurp(1)
	if err := g.Confirmed(w.Ctx); !errors.Is(err, lethe.ErrBackendMismatch) || !strings.Contains(err.Error(), "older copy") {
		t.Errorf("an older ledger: %v", err)
	}
	w.Must(g.Accept(w.Ctx, "main"))
	w.Must(g.Confirmed(w.Ctx))
}

// A backend without an epoch object, a disk that is not mounted, does not tell whose
// it is: an older ledger waits for one that does.
func TestABackendWithoutAnEpochTellsNothing(t *testing.T) {
	w := newWorld(t)
	w.Must(w.Pairing().Advance(w.Ctx, "main"))
	g, disk := w.Pairing(), w.Stores["main"]
	w.Stores["main"] = memblob.New(memblob.Options{})
	for range 2 {
		if err := g.Confirmed(w.Ctx); !errors.Is(err, lethe.ErrBackendMismatch) || !strings.Contains(err.Error(), "carries no epoch") {
			t.Errorf("not mounted: %v", err)
		}
	}
	w.Stores["main"] = disk
	w.Must(g.Confirmed(w.Ctx))
}

// A person who holds a backend of a restored ledger, as it was when the backup was made, accepts
// nothing by that.
func TestAHoldAcceptsNothing(t *testing.T) {
	w := newWorld(t)
	w.Must(w.Pairing().Advance(w.Ctx, "main"))
	w.Hold("main", ledger.BackendHold{For: ledger.HeldForLedger, Reason: "restored"})
	w.Must(w.Ledger.HoldBackend(w.Ctx, "main", "not before Monday"))
	if err := w.Pairing().Confirmed(w.Ctx); !errors.Is(err, lethe.ErrBackendMismatch) || !strings.Contains(err.Error(), "restored; not before Monday") {
		t.Errorf("a restored ledger that a person holds: %v", err)
	}
}

// A backend that is held already, by a person or for what is wrong with it, hides no
// doubt about the ledger, and what it was held for is not forgotten.
func TestAHeldBackendHidesNoDoubt(t *testing.T) {
	for held, kept := range map[ledger.BackendHold]bool{
		{For: ledger.HeldByPerson, Reason: "a person says so"}: true, {For: ledger.HeldForAbsence, Reason: "no epoch"}: false,
	} {
		w := newWorld(t)
		w.Must(w.Pairing().Advance(w.Ctx, "main"))
		w.Hold("main", held)
		w.Usurp(1)
		g := w.Pairing()
		for range 2 {
			if err := g.Confirmed(w.Ctx); !errors.Is(err, lethe.ErrBackendMismatch) || !strings.Contains(err.Error(), "older copy") || strings.Contains(err.Error(), held.Reason) != kept {
				t.Errorf("an older ledger, held for %+v: %v", held, err)
			}
		}
		w.Must(g.Accept(w.Ctx, "main"))
		w.Must(g.Confirmed(w.Ctx))
	}
}
