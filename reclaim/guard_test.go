package reclaim_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/reclaim"
)

func (w *world) guard() *reclaim.Pairing {
	return &reclaim.Pairing{Ledger: w.ledger, Stores: w.stores, Clock: w.clock}
}

// holds fails unless the backend is held for a reason that contains what.
func (w *world) holds(err error, what string) {
	w.Helper()
	if !errors.Is(err, lethe.ErrBackendMismatch) || !strings.Contains(err.Error(), what) {
		w.Errorf("the guard says %v, want %q", err, what)
	}
	list, err := w.ledger.Backends(w.ctx)
	w.must(err)
	if !strings.Contains(list[0].Held, what) {
		w.Errorf("held for %q, want %q", list[0].Held, what)
	}
}

// The epoch grows, and one object of it stays.
func TestEpochsAdvance(t *testing.T) {
	w := newWorld(t)
	g, last := w.guard(), int64(0)
	for i := range 5 {
		w.must(g.Advance(w.ctx, "main"))
		list, err := w.ledger.Backends(w.ctx)
		w.must(err)
		if b := list[0]; b.Epoch <= last || b.Intended != b.Epoch {
			w.Errorf("after %d times the epoch is %d, %d intended; it was %d", i+1, b.Epoch, b.Intended, last)
		}
		last = list[0].Epoch
		want(w, "objects on the backend", w.bytes.Len(), 1)
	}
}

// Whatever fails while the epoch is written, the next call completes it.
func TestAdvanceAfterEveryFault(t *testing.T) {
	for _, op := range []blobtest.Op{blobtest.OpPut, blobtest.OpList, blobtest.OpDelete} {
		for _, kind := range []blobtest.Kind{blobtest.NotDone, blobtest.DoneError, blobtest.Down} {
			w := newWorld(t)
			g := w.guard()
			w.must(g.Advance(w.ctx, "main"))
			failed := false
			w.fault = func(c blobtest.Call) blobtest.Fault {
				if c.Op == op && !failed {
					failed = true
					return blobtest.Fault{Kind: kind}
				}
				return blobtest.Fault{}
			}
			if err := g.Advance(w.ctx, "main"); errors.Is(err, lethe.ErrBackendMismatch) {
				t.Errorf("%s %s holds the backend: %v", op, kind, err)
			}
			if err := g.Advance(w.ctx, "main"); err != nil {
				t.Errorf("after %s %s: %v", op, kind, err)
			}
			want(w, "objects on the backend", w.bytes.Len(), 1)
		}
	}
}

// A backend that was emptied, or another mounted in its place.
func TestAnEmptyBackendIsHeld(t *testing.T) {
	w := newWorld(t)
	g := w.guard()
	w.must(g.Advance(w.ctx, "main"))
	for _, key := range w.bytes.Keys() {
		w.bytes.Lose(key)
	}
	w.holds(g.Advance(w.ctx, "main"), "carries no epoch")
	w.holds(g.Check(w.ctx, "main"), "carries no epoch")
	w.must(g.Accept(w.ctx, "main"))
	w.must(g.Check(w.ctx, "main"))
}

// A backend whose disk was not mounted goes on by itself once it is; one that a
// person has held does not.
func TestAMissingBackendComesBack(t *testing.T) {
	w := newWorld(t)
	g := w.guard()
	var place []string
	g.Place = func(_, why string) { place = append(place, why) }
	w.must(g.Advance(w.ctx, "main"))
	disk := w.stores["main"]
	w.stores["main"] = memblob.New(memblob.Options{})
	w.holds(g.Check(w.ctx, "main"), "carries no epoch")
	w.stores["main"] = disk
	w.must(g.Check(w.ctx, "main"))
	list, err := w.ledger.Backends(w.ctx)
	w.must(err)
	want(w, "held", list[0].Held, "")
	if len(place) != 3 || place[0] != "" || !strings.Contains(place[1], "carries no epoch") || place[2] != "" {
		t.Errorf("its place was told to be %q", place)
	}
	w.must(w.ledger.HoldBackend(w.ctx, "main", "moving house"))
	w.holds(g.Check(w.ctx, "main"), "moving house")
	if why := place[len(place)-1]; why != "" {
		t.Errorf("a held backend is not missing: %s", why)
	}
}

// Another instance that advances the epoch while this one looks is no mismatch.
func TestAnAdvanceDuringTheCheckIsNoMismatch(t *testing.T) {
	for _, n := range []int{0, 1} {
		w := newWorld(t)
		w.must(w.guard().Advance(w.ctx, "main"))
		other := &reclaim.Pairing{Ledger: w.ledger, Stores: map[string]blob.Store{"main": w.bytes}, Clock: w.clock}
		w.fault = func(c blobtest.Call) blobtest.Fault {
			if c.Op == blobtest.OpList && n == 0 {
				w.must(other.Advance(w.ctx, "main"))
			}
			n--
			return blobtest.Fault{}
		}
		w.must(w.guard().Check(w.ctx, "main"))
	}
}

// A backend that was put back from a copy.
func TestAnOlderBackendIsHeld(t *testing.T) {
	w := newWorld(t)
	g := w.guard()
	w.must(g.Advance(w.ctx, "main"))
	old := w.bytes.Clone()
	w.must(g.Advance(w.ctx, "main"))
	w.stores["main"] = old
	w.holds(g.Check(w.ctx, "main"), "the backend is an older copy")
}

// A ledger that was restored from a copy, and then its original.
func TestAnOlderLedgerIsHeld(t *testing.T) {
	w := newWorld(t)
	g := w.guard()
	w.must(g.Advance(w.ctx, "main"))
	// The backend advances with another copy of the ledger: its next epochs.
	w.usurp(1)
	w.holds(g.Check(w.ctx, "main"), "this ledger is an older copy")
	w.must(g.Accept(w.ctx, "main"))
	w.must(g.Advance(w.ctx, "main"))
	want(w, "objects on the backend", w.bytes.Len(), 1)
}

// usurp has another ledger advance the epoch of the backend by so much, and returns
// the number.
func (w *world) usurp(by int64) int64 {
	w.Helper()
	list, err := w.ledger.Backends(w.ctx)
	w.must(err)
	n := list[0].Intended + by
	w.bytes.Set(fmt.Sprintf("%s/epoch/%019d", w.store, n), []byte(`{"db":"another"}`))
	return n
}

// A backend that does not answer is not judged.
func TestTheGuardDoesNotGuess(t *testing.T) {
	w := newWorld(t)
	g := w.guard()
	w.must(g.Advance(w.ctx, "main"))
	w.fault = func(blobtest.Call) blobtest.Fault { return blobtest.Fault{Kind: blobtest.Down} }
	if err := g.Check(w.ctx, "main"); err == nil || errors.Is(err, lethe.ErrBackendMismatch) {
		t.Errorf("the guard says %v", err)
	}
	w.fault = func(blobtest.Call) blobtest.Fault { return blobtest.Fault{} }
	w.must(g.Check(w.ctx, "main"))
	// An object that is no epoch object proves that another program wrote there; an
	// operator has to find out which.
	strange := string(w.store) + "/epoch/7"
	w.bytes.Set(strange, []byte("{"))
	w.holds(g.Check(w.ctx, "main"), "is no epoch object")
	w.bytes.Lose(strange)
	w.must(g.Accept(w.ctx, "main"))
	w.must(g.Check(w.ctx, "main"))
}
