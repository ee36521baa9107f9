package routine_test

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
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/test/reclaimtest"
)

func (w *world) clean() *routine.Clean {
	return &routine.Clean{Ledger: w.Ledger, Stores: w.Stores, Store: w.Store, Safety: w.Safety, Limit: 10, Clock: w.Clock}
}

// faults lets every delete call end in a way.
func (w *world) faults(f blobtest.Fault) {
	w.Fault = func(c blobtest.Call) blobtest.Fault {
		if c.Op == blobtest.OpDelete {
			return f
		}
		return blobtest.Fault{}
	}
}

// A thousand blobs go in one call for each claim, and only what is condemned.
func TestCleanDeletesInBatches(t *testing.T) {
	w := newWorld(t)
	keep := w.Put("keep", "kept")
	var keys []string
	for i := range 25 {
		keys = append(keys, fmt.Sprint(i))
		w.Put(keys[i], fmt.Sprint("body ", i))
	}
	w.Remove(keys...)
	got := w.Pass(w.clean())
	reclaimtest.Want(w, "gone", got["gone"], 25)
	reclaimtest.Want(w, "calls", got["calls"], 3)
	reclaimtest.Want(w, "blobs left", w.Bytes.Len(), 1)
	reclaimtest.Want(w, "state of what is kept", w.State(keep), lethe.Live)
	w.Sound()
}

// What was condemned just now stays for readers.
func TestCleanWaitsForReaders(t *testing.T) {
	w := newWorld(t)
	b := w.Put("a", "bytes")
	w.Remove("a")
	w.Clock.Advance(-time.Second)
	reclaimtest.Want(w, "gone", w.Pass(w.clean())["gone"], 0)
	w.Clock.Advance(time.Second)
	reclaimtest.Want(w, "gone", w.Pass(w.clean())["gone"], 1)
	reclaimtest.Want(w, "state", w.State(b), 0)
}

// A lost response proves nothing: the blob is tried again, and found absent.
func TestCleanRetriesUnknownOutcomes(t *testing.T) {
	for _, kind := range []blobtest.Kind{blobtest.DoneError, blobtest.NotDone} {
		w := newWorld(t)
		b := w.Put("a", "bytes")
		w.Remove("a")
		w.faults(blobtest.Fault{Kind: kind})
		got := w.Pass(w.clean())
		reclaimtest.Want(w, "gone", got["gone"], 0)
		reclaimtest.Want(w, "retried", got["retried"], 1)
		row, _ := w.Ledger.Blob(b)
		reclaimtest.Want(w, "attempts", row.Attempts, 1)
		reclaimtest.Want(w, "next attempt", row.DueAt.Sub(w.Clock.Now()), w.Safety.BackoffMin)
		w.faults(blobtest.Fault{})
		w.Clock.Advance(w.Safety.BackoffMin)
		reclaimtest.Want(w, "gone", w.Pass(w.clean())["gone"], 1)
		w.Sound()
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
		bad, good := w.Put("a", "bytes of a"), w.Put("b", "bytes of b")
		w.Remove("a", "b")
		w.faults(blobtest.Fault{Kind: blobtest.Partial, Key: func(_ int, key string) blobtest.Outcome {
			if key == w.BlobName(bad) {
				return outcome
			}
			return blobtest.KeyDone
		}})
		got := w.Pass(w.clean())
		reclaimtest.Want(w, "gone", got["gone"], gone)
		reclaimtest.Want(w, "retried", got["retried"], 2-gone)
		reclaimtest.Want(w, "state of the good one", w.State(good), 0)
		w.faults(blobtest.Fault{})
		w.Clock.Advance(w.Safety.BackoffMin)
		reclaimtest.Want(w, "gone later", w.Pass(w.clean())["gone"], 2-gone)
		reclaimtest.Want(w, "blobs left", w.Bytes.Len(), 0)
		w.Sound()
	}
}

// Attempts that are used up make a dead letter, with its reason and error.
func TestCleanGivesUp(t *testing.T) {
	w := newWorld(t)
	b := w.Put("a", "bytes")
	w.Remove("a")
	w.faults(blobtest.Fault{Kind: blobtest.NotDone, Err: errors.New("locked")})
	var failed []bool
	k := w.clean()
	k.Events = &reclaim.Events{DeleteFailed: func(_ ledger.Blob, _ string, dead bool) { failed = append(failed, dead) }}
	for range w.Safety.Attempts {
		w.Pass(k)
		w.Clock.Advance(w.Safety.BackoffMax)
	}
	reclaimtest.Want(w, "failures", fmt.Sprint(failed), "[false false true]")
	reclaimtest.Want(w, "state", w.State(b), lethe.Dead)
	w.faults(blobtest.Fault{})
	reclaimtest.Want(w, "gone", w.Pass(w.clean())["gone"], 0)
	row, _ := w.Ledger.Blob(b)
	reclaimtest.Want(w, "reason", row.Reason, lethe.ReasonDelete)
	n, err := w.Ledger.Requeue(w.Ctx, []lethe.ID{b})
	w.Must(err)
	reclaimtest.Want(w, "requeued", n, 1)
	reclaimtest.Want(w, "gone", w.Pass(w.clean())["gone"], 1)
	w.Sound()
}

// While a backend is down its items wait, burn no attempts, and the backend is
// let alone for a while.
func TestAnOutageBurnsNoAttempts(t *testing.T) {
	w := newWorld(t)
	b := w.Put("a", "bytes")
	w.Remove("a")
	calls := 0
	w.Fault = func(c blobtest.Call) blobtest.Fault {
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
		w.Pass(k)
		w.Clock.Advance(w.Safety.BackoffMin / 2)
	}
	row, _ := w.Ledger.Blob(b)
	reclaimtest.Want(w, "attempts", row.Attempts, 0)
	reclaimtest.Want(w, "state", row.State, lethe.Condemned)
	reclaimtest.Want(w, "calls", calls, 10)
	reclaimtest.Want(w, "outages told", down, 10)
	w.Fault = func(blobtest.Call) blobtest.Fault { return blobtest.Fault{} }
	w.Clock.Advance(w.Safety.BackoffMin)
	reclaimtest.Want(w, "gone", w.Pass(k)["gone"], 1)
}

// A pass whose window closes, or that is stopped, in the middle of a delete burns
// no attempts, and does not take the backend for down.
func TestACutOffPassBurnsNoAttempts(t *testing.T) {
	for _, why := range []error{context.DeadlineExceeded, context.Canceled} {
		w := newWorld(t)
		b := w.Put("a", "bytes")
		w.Remove("a")
		ctx, cut := context.WithCancelCause(w.Ctx)
		w.Fault = func(c blobtest.Call) blobtest.Fault {
			if c.Op != blobtest.OpDelete || c.N > 1 {
				return blobtest.Fault{}
			}
			cut(why)
			return blobtest.Fault{Kind: blobtest.NotDone, Err: why}
		}
		k := w.clean()
		k.Events = &reclaim.Events{BackendDown: func(_ string, err error) { t.Errorf("the backend is said to be down: %v", err) }}
		if _, err := k.Pass("worker")(ctx, func(string, int64) {}); err != nil {
			t.Errorf("the pass ends with %v", err)
		}
		row, _ := w.Ledger.Blob(b)
		reclaimtest.Want(w, "attempts", row.Attempts, 0)
		reclaimtest.Want(w, "state", row.State, lethe.Condemned)
		w.Clock.Advance(w.Safety.BackoffMin)
		reclaimtest.Want(w, "gone", w.Pass(k)["gone"], 1)
	}
}

// A backend that is held keeps its bytes, and others are cleaned all the same.
func TestCleanStopsOnHeldBackends(t *testing.T) {
	w := newWorld(t)
	w.Put("a", "bytes")
	w.Remove("a")
	w.Must(w.Ledger.HoldBackend(w.Ctx, "main", "why not"))
	got := w.Pass(w.clean())
	reclaimtest.Want(w, "held", got["held"], 1)
	reclaimtest.Want(w, "blobs left", w.Bytes.Len(), 1)
	w.Must(w.Ledger.HoldBackend(w.Ctx, "main", ""))
	reclaimtest.Want(w, "gone", w.Pass(w.clean())["gone"], 1)
}

// A claim that was taken over settles nothing, and the bytes are settled once.
func TestALateSettleIsFenced(t *testing.T) {
	w := newWorld(t)
	b := w.Put("a", "bytes")
	w.Remove("a")
	watch := &routine.Watch{Ledger: w.Ledger, Safety: w.Safety, Limit: 10}
	other := w.clean()
	w.Fault = func(c blobtest.Call) blobtest.Fault {
		if c.Op != blobtest.OpDelete || c.N > 1 {
			return blobtest.Fault{}
		}
		w.Clock.Advance(w.Safety.ClaimGrace)
		reclaimtest.Want(w, "recovered", w.Pass(watch)["recovered"], 1)
		reclaimtest.Want(w, "gone by the other", w.Pass(other)["gone"], 1)
		return blobtest.Fault{}
	}
	got := w.Pass(w.clean())
	reclaimtest.Want(w, "gone", got["gone"], 0)
	reclaimtest.Want(w, "fenced", got["fenced"], 1)
	reclaimtest.Want(w, "state", w.State(b), 0)
	w.Sound()
}
