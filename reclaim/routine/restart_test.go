package routine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/memledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// counted counts the transactions that a pass asks for.
type counted struct {
	*memledger.DB
	batches, others int
}

func (c *counted) Expire(ctx context.Context, b ledger.Batch) (ledger.Reclaimed, error) {
	c.batches++
	return c.DB.Expire(ctx, b)
}

func (c *counted) ReturnDeferred(ctx context.Context, n int) (ledger.ReturnedRows, error) {
	c.others++
	return c.DB.ReturnDeferred(ctx, n)
}

func (c *counted) ClaimCondemned(ctx context.Context, r ledger.ClaimRequest) (ledger.Claimed, error) {
	c.batches++
	return c.DB.ClaimCondemned(ctx, r)
}

// dying stores an object that is due in a microsecond.
func (w *world) dying(key string) {
	w.Helper()
	b := w.Intent(key, key, false)
	w.Upload(b, key)
	c := w.Commit(key, key, b)
	c.TTL = time.Microsecond
	_, err := w.Ledger.Commit(w.Ctx, c)
	w.Must(err)
}

const (
	inBatch  = 4
	stepTime = 10 * time.Second
	roundOf  = 5 // steps
	allSteps = 30
)

// endless takes steps of a pass that always finds more than a batch. It returns
// after how many steps, from the appearance of work behind the pass's place, that
// work was done; 0: never.
func (w *world) endless(r reclaim.Routine, more, behind func(), done func() bool) (took int) {
	w.Helper()
	step, counts := r.Pass("worker"), &reclaim.Counts{}
	for i := range allSteps {
		more()
		w.Clock.Advance(stepTime)
		if i == 3 {
			behind()
		}
		on, err := step(w.Ctx, counts.Add)
		w.Must(err)
		if !on {
			w.Fatalf("the pass ended after %d steps: %v", i, counts.Map())
		}
		if i >= 3 && done() {
			return i - 2
		}
	}
	return 0
}

// What becomes due behind the place of an endless pass waits no longer than a
// round, and the rounds have no cost per object.
func TestPassesBeginAgainAtTheFront(t *testing.T) {
	for _, lasting := range []time.Duration{0, roundOf * stepTime} {
		t.Run(lasting.String(), func(t *testing.T) {
			expireEndlessly(newWorld(t), lasting)
			cleanEndlessly(newWorld(t), lasting)
		})
	}
}

func within(w *world, lasting time.Duration, took int) {
	w.Helper()
	if want := lasting > 0; (took > 0) != want || took > 2*roundOf {
		w.Errorf("done after %d steps", took)
	}
}

func expireEndlessly(w *world, lasting time.Duration) {
	l := &counted{DB: w.Ledger}
	r := &routine.Expire{Ledger: l, Batch: ledger.Batch{Limit: inBatch}, Rounds: routine.RestartInterval{Time: lasting, Clock: w.Clock}}
	h := ledger.Hold{Bucket: "b", Scope: ledger.HoldObject, Key: "held"}
	_, err := w.Ledger.AddHold(w.Ctx, h)
	w.Must(err)
	w.dying("held")
	w.Clock.Advance(time.Second)
	n := 0
	more := func() {
		for range 3 * inBatch {
			w.dying(fmt.Sprint("k", n))
			n++
		}
	}
	there := func() bool { _, found := w.Ledger.Object("b", "held"); return found }
	took := w.endless(r, more, func() { w.Must(w.Ledger.ReleaseHold(w.Ctx, h)) }, func() bool { return !there() })
	within(w, lasting, took)
	if steps := l.batches + l.others; l.others > steps/roundOf+3 {
		w.Errorf("%d batches, and %d transactions beside them", l.batches, l.others)
	}
}

func cleanEndlessly(w *world, lasting time.Duration) {
	l := &counted{DB: w.Ledger}
	r := w.clean()
	each := time.Duration(roundOf) * (stepTime + time.Minute) // remove waits, too
	r.Ledger, r.Limit, r.Rounds = l, inBatch, routine.RestartInterval{Time: min(lasting*roundOf*10, each), Clock: w.Clock}
	n := 0
	more := func() {
		var keys []string
		for range 3 * inBatch {
			key := fmt.Sprint("k", n)
			w.Put(key, key)
			keys = append(keys, key)
			n++
		}
		w.Remove(keys...)
	}
	left := w.Put("left", "by a dead worker")
	w.Remove("left")
	_, err := w.Ledger.ClaimCondemned(w.Ctx, ledger.ClaimRequest{Worker: "dead", Backend: "main", Limit: 1})
	w.Must(err)
	took := w.endless(r, more, func() {
		_, err := w.Ledger.RecoverClaims(w.Ctx, 0, 0)
		w.Must(err)
	}, func() bool { return w.State(left) == lethe.State(0) })
	within(w, lasting, took)
}
