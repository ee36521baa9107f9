package reclaim_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
)

func (w *world) clean() *reclaim.Clean {
	return &reclaim.Clean{Ledger: w.ledger, Stores: w.stores, Store: w.store, Safety: w.safety, Limit: 10, Clock: w.clock}
}

// faults lets every delete call end in a way.
func (w *world) faults(f blobtest.Fault) {
	w.fault = func(c blobtest.Call) blobtest.Fault {
		if c.Op == blobtest.OpDelete {
			return f
		}
		return blobtest.Fault{}
	}
}

// A thousand blobs go in one call for each claim, and only what is condemned.
func TestCleanDeletesInBatches(t *testing.T) {
	w := newWorld(t)
	keep := w.put("keep", "kept")
	var keys []string
	for i := range 25 {
		keys = append(keys, fmt.Sprint(i))
		w.put(keys[i], fmt.Sprint("body ", i))
	}
	w.remove(keys...)
	got := w.pass(w.clean())
	want(w, "gone", got["gone"], 25)
	want(w, "calls", got["calls"], 3)
	want(w, "blobs left", w.bytes.Len(), 1)
	want(w, "state of what is kept", w.state(keep), lethe.Live)
	w.sound()
}

// What was condemned just now stays for readers.
func TestCleanWaitsForReaders(t *testing.T) {
	w := newWorld(t)
	b := w.put("a", "bytes")
	w.remove("a")
	w.clock.Advance(-time.Second)
	want(w, "gone", w.pass(w.clean())["gone"], 0)
	w.clock.Advance(time.Second)
	want(w, "gone", w.pass(w.clean())["gone"], 1)
	want(w, "state", w.state(b), 0)
}

// A lost response proves nothing: the blob is tried again, and found absent.
func TestCleanRetriesUnknownOutcomes(t *testing.T) {
	for _, kind := range []blobtest.Kind{blobtest.DoneError, blobtest.NotDone} {
		w := newWorld(t)
		b := w.put("a", "bytes")
		w.remove("a")
		w.faults(blobtest.Fault{Kind: kind})
		got := w.pass(w.clean())
		want(w, "gone", got["gone"], 0)
		want(w, "retried", got["retried"], 1)
		row, _ := w.ledger.Blob(b)
		want(w, "attempts", row.Attempts, 1)
		want(w, "next attempt", row.DueAt.Sub(w.clock.Now()), w.safety.BackoffMin)
		w.faults(blobtest.Fault{})
		w.clock.Advance(w.safety.BackoffMin)
		want(w, "gone", w.pass(w.clean())["gone"], 1)
		w.sound()
	}
}

// Each key of a batch is settled by its own result: a key without a certain result
// is tried again, whether the delete had an effect or not.
func TestCleanSettlesEachKeyByItsOwnAnswer(t *testing.T) {
	for outcome, gone := range map[blobtest.Outcome]int64{
		blobtest.KeyDone: 2, blobtest.KeyRefused: 1, blobtest.KeyUnknown: 1,
		blobtest.KeyDoneError: 1, blobtest.KeyLost: 1, blobtest.KeySkipped: 1,
	} {
		w := newWorld(t)
		bad, good := w.put("a", "bytes of a"), w.put("b", "bytes of b")
		w.remove("a", "b")
		w.faults(blobtest.Fault{Kind: blobtest.Partial, Key: func(_ int, key string) blobtest.Outcome {
			if key == w.name(bad) {
				return outcome
			}
			return blobtest.KeyDone
		}})
		got := w.pass(w.clean())
		want(w, "gone", got["gone"], gone)
		want(w, "retried", got["retried"], 2-gone)
		want(w, "state of the good one", w.state(good), 0)
		w.faults(blobtest.Fault{})
		w.clock.Advance(w.safety.BackoffMin)
		want(w, "gone later", w.pass(w.clean())["gone"], 2-gone)
		want(w, "blobs left", w.bytes.Len(), 0)
		w.sound()
	}
}

// Attempts that are used up make a dead letter, with its reason and error.
func TestCleanGivesUp(t *testing.T) {
	w := newWorld(t)
	b := w.put("a", "bytes")
	w.remove("a")
	w.faults(blobtest.Fault{Kind: blobtest.NotDone, Err: errors.New("locked")})
	var failed []bool
	k := w.clean()
	k.Events = &reclaim.Events{DeleteFailed: func(_ ledger.Blob, _ string, dead bool) { failed = append(failed, dead) }}
	for range w.safety.Attempts {
		w.pass(k)
		w.clock.Advance(w.safety.BackoffMax)
	}
	want(w, "failures", fmt.Sprint(failed), "[false false true]")
	want(w, "state", w.state(b), lethe.Dead)
	w.faults(blobtest.Fault{})
	want(w, "gone", w.pass(w.clean())["gone"], 0)
	row, _ := w.ledger.Blob(b)
	want(w, "reason", row.Reason, lethe.ReasonDelete)
	n, err := w.ledger.Requeue(w.ctx, []lethe.ID{b})
	w.must(err)
	want(w, "requeued", n, 1)
	want(w, "gone", w.pass(w.clean())["gone"], 1)
	w.sound()
}

// While a backend is down its items wait, burn no attempts, and the backend is
// let alone for a while.
func TestAnOutageBurnsNoAttempts(t *testing.T) {
	w := newWorld(t)
	b := w.put("a", "bytes")
	w.remove("a")
	calls := 0
	w.fault = func(c blobtest.Call) blobtest.Fault {
		if c.Op == blobtest.OpDelete {
			calls++
		}
		return blobtest.Fault{Kind: blobtest.Down}
	}
	k := w.clean()
	down := 0
	k.Events = &reclaim.Events{BackendDown: func(_ string, err error) {
		if errors.Is(err, blob.ErrDown) {
			down++
		}
	}}
	for range 20 {
		w.pass(k)
		w.clock.Advance(w.safety.BackoffMin / 2)
	}
	row, _ := w.ledger.Blob(b)
	want(w, "attempts", row.Attempts, 0)
	want(w, "state", row.State, lethe.Condemned)
	want(w, "calls", calls, 10)
	want(w, "outages told", down, 10)
	w.fault = func(blobtest.Call) blobtest.Fault { return blobtest.Fault{} }
	w.clock.Advance(w.safety.BackoffMin)
	want(w, "gone", w.pass(k)["gone"], 1)
}

// A pass whose window closes, or that is stopped, in the middle of a delete burns
// no attempts, and does not take the backend for down.
func TestACutOffPassBurnsNoAttempts(t *testing.T) {
	for _, why := range []error{context.DeadlineExceeded, context.Canceled} {
		w := newWorld(t)
		b := w.put("a", "bytes")
		w.remove("a")
		ctx, cut := context.WithCancelCause(w.ctx)
		w.fault = func(c blobtest.Call) blobtest.Fault {
			if c.Op != blobtest.OpDelete || c.N > 1 {
				return blobtest.Fault{}
			}
			cut(why)
			return blobtest.Fault{Kind: blobtest.NotDone, Err: why}
		}
		k := w.clean()
		k.Events = &reclaim.Events{BackendDown: func(_ string, err error) { t.Errorf("the backend is said to be down: %v", err) }}
		if _, err := k.Pass("worker")(ctx, &reclaim.Counts{}); err != nil {
			t.Errorf("the pass ends with %v", err)
		}
		row, _ := w.ledger.Blob(b)
		want(w, "attempts", row.Attempts, 0)
		want(w, "state", row.State, lethe.Condemned)
		w.clock.Advance(w.safety.BackoffMin)
		want(w, "gone", w.pass(k)["gone"], 1)
	}
}

// A backend that is held keeps its bytes, and others are cleaned all the same.
func TestCleanStopsOnHeldBackends(t *testing.T) {
	w := newWorld(t)
	w.put("a", "bytes")
	w.remove("a")
	w.must(w.ledger.HoldBackend(w.ctx, "main", "why not"))
	got := w.pass(w.clean())
	want(w, "held", got["held"], 1)
	want(w, "blobs left", w.bytes.Len(), 1)
	w.must(w.ledger.HoldBackend(w.ctx, "main", ""))
	want(w, "gone", w.pass(w.clean())["gone"], 1)
}

// A claim that was taken over settles nothing, and the bytes are settled once.
func TestALateSettleIsFenced(t *testing.T) {
	w := newWorld(t)
	b := w.put("a", "bytes")
	w.remove("a")
	watch := &reclaim.Watch{Ledger: w.ledger, Safety: w.safety, Limit: 10}
	other := w.clean()
	w.fault = func(c blobtest.Call) blobtest.Fault {
		if c.Op != blobtest.OpDelete || c.N > 1 {
			return blobtest.Fault{}
		}
		w.clock.Advance(w.safety.ClaimGrace)
		want(w, "recovered", w.pass(watch)["recovered"], 1)
		want(w, "gone by the other", w.pass(other)["gone"], 1)
		return blobtest.Fault{}
	}
	got := w.pass(w.clean())
	want(w, "gone", got["gone"], 0)
	want(w, "fenced", got["fenced"], 1)
	want(w, "state", w.state(b), 0)
	w.sound()
}
