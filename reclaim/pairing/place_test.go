package pairing_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/reclaim/pairing"
	"github.com/lethe-storage/lethe/test/reclaimtest"
)

// holds fails unless the backend is held for a reason that contains what.
func (w *world) holds(err error, what string) {
	w.Helper()
	if !errors.Is(err, lethe.ErrBackendMismatch) || !strings.Contains(err.Error(), what) {
		w.Errorf("the pairing says %v, want %q", err, what)
	}
	list, err := w.Ledger.Backends(w.Ctx)
	w.Must(err)
	if !strings.Contains(list[0].Held, what) {
		w.Errorf("held for %q, want %q", list[0].Held, what)
	}
}

// The epoch grows, and one object of it stays.
func TestEpochsAdvance(t *testing.T) {
	w := newWorld(t)
	g, last := w.Pairing(), int64(0)
	for i := range 5 {
		w.Must(g.Advance(w.Ctx, "main"))
		list, err := w.Ledger.Backends(w.Ctx)
		w.Must(err)
		if b := list[0]; b.Epoch <= last || b.Intended != b.Epoch {
			w.Errorf("after %d times the epoch is %d, %d intended; it was %d", i+1, b.Epoch, b.Intended, last)
		}
		last = list[0].Epoch
		reclaimtest.Want(w, "objects on the backend", w.Bytes.Len(), 1)
	}
}

// Whatever fails while the epoch is written, the next call completes it.
func TestAdvanceAfterEveryFault(t *testing.T) {
	for _, op := range []blobtest.Op{blobtest.OpPut, blobtest.OpList, blobtest.OpDelete} {
		for _, kind := range []blobtest.Kind{blobtest.NotDone, blobtest.DoneError, blobtest.Down} {
			w := newWorld(t)
			g := w.Pairing()
			w.Must(g.Advance(w.Ctx, "main"))
			failed := false
			w.Fault = func(c blobtest.Call) blobtest.Fault {
				if c.Op == op && !failed {
					failed = true
					return blobtest.Fault{Kind: kind}
				}
				return blobtest.Fault{}
			}
			if err := g.Advance(w.Ctx, "main"); errors.Is(err, lethe.ErrBackendMismatch) {
				t.Errorf("%s %s holds the backend: %v", op, kind, err)
			}
			if err := g.Advance(w.Ctx, "main"); err != nil {
				t.Errorf("after %s %s: %v", op, kind, err)
			}
			reclaimtest.Want(w, "objects on the backend", w.Bytes.Len(), 1)
		}
	}
}

// A backend that was emptied, or another mounted in its place.
func TestAnEmptyBackendIsHeld(t *testing.T) {
	w := newWorld(t)
	g := w.Pairing()
	w.Must(g.Advance(w.Ctx, "main"))
	for _, key := range w.Bytes.Keys() {
		w.Bytes.Lose(key)
	}
	w.holds(g.Advance(w.Ctx, "main"), "carries no epoch")
	w.holds(g.Check(w.Ctx, "main"), "carries no epoch")
	w.Must(g.Accept(w.Ctx, "main"))
	w.Must(g.Check(w.Ctx, "main"))
}

// A backend whose disk was not mounted goes on by itself once it is; one that a
// person has held does not.
func TestAMissingBackendComesBack(t *testing.T) {
	w := newWorld(t)
	g := w.Pairing()
	var place []string
	g.Place = func(_, why string) { place = append(place, why) }
	w.Must(g.Advance(w.Ctx, "main"))
	disk := w.Stores["main"]
	w.Stores["main"] = memblob.New(memblob.Options{})
	w.holds(g.Check(w.Ctx, "main"), "carries no epoch")
	w.Stores["main"] = disk
	w.Must(g.Check(w.Ctx, "main"))
	list, err := w.Ledger.Backends(w.Ctx)
	w.Must(err)
	reclaimtest.Want(w, "held", list[0].Held, "")
	if len(place) != 3 || place[0] != "" || !strings.Contains(place[1], "carries no epoch") || place[2] != "" {
		t.Errorf("its place was told to be %q", place)
	}
	w.Must(w.Ledger.HoldBackend(w.Ctx, "main", "moving house"))
	w.holds(g.Check(w.Ctx, "main"), "moving house")
	if why := place[len(place)-1]; why != "" {
		t.Errorf("a held backend is not missing: %s", why)
	}
}

// Another instance that advances the epoch while this one looks is no mismatch.
func TestAnAdvanceDuringTheCheckIsNoMismatch(t *testing.T) {
	for _, n := range []int{0, 1} {
		w := newWorld(t)
		w.Must(w.Pairing().Advance(w.Ctx, "main"))
		other := &pairing.Pairing{Ledger: w.Ledger, Stores: map[string]blob.Store{"main": w.Bytes}, Clock: w.Clock}
		w.Fault = func(c blobtest.Call) blobtest.Fault {
			if c.Op == blobtest.OpList && n == 0 {
				w.Must(other.Advance(w.Ctx, "main"))
			}
			n--
			return blobtest.Fault{}
		}
		w.Must(w.Pairing().Check(w.Ctx, "main"))
	}
}

// A backend that was put back from a copy.
func TestAnOlderBackendIsHeld(t *testing.T) {
	w := newWorld(t)
	g := w.Pairing()
	w.Must(g.Advance(w.Ctx, "main"))
	old := w.Bytes.Clone()
	w.Must(g.Advance(w.Ctx, "main"))
	w.Stores["main"] = old
	w.holds(g.Check(w.Ctx, "main"), "the backend is an older copy")
}

// A ledger that was restored from a copy, and then its original.
func TestAnOlderLedgerIsHeld(t *testing.T) {
	w := newWorld(t)
	g := w.Pairing()
	w.Must(g.Advance(w.Ctx, "main"))
	// The backend advances with another copy of the ledger: its next epochs.
	w.Usurp(1)
	w.holds(g.Check(w.Ctx, "main"), "this ledger is an older copy")
	w.Must(g.Accept(w.Ctx, "main"))
	w.Must(g.Advance(w.Ctx, "main"))
	reclaimtest.Want(w, "objects on the backend", w.Bytes.Len(), 1)
}

// A backend that does not answer is not judged.
func TestTheGuardDoesNotGuess(t *testing.T) {
	w := newWorld(t)
	g := w.Pairing()
	w.Must(g.Advance(w.Ctx, "main"))
	w.Fault = func(blobtest.Call) blobtest.Fault { return blobtest.Fault{Kind: blobtest.Down} }
	if err := g.Check(w.Ctx, "main"); err == nil || errors.Is(err, lethe.ErrBackendMismatch) {
		t.Errorf("the pairing says %v", err)
	}
	w.Fault = func(blobtest.Call) blobtest.Fault { return blobtest.Fault{} }
	w.Must(g.Check(w.Ctx, "main"))
	// An object that is no epoch object proves that another program wrote there; an
	// operator has to find out which.
	strange := string(w.Store) + "/epoch/7"
	w.Bytes.Set(strange, []byte("{"))
	w.holds(g.Check(w.Ctx, "main"), "is no epoch object")
	w.Bytes.Lose(strange)
	w.Must(g.Accept(w.Ctx, "main"))
	w.Must(g.Check(w.Ctx, "main"))
}
