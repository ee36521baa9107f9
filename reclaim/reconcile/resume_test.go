package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/reconcile"
)

var errCut = errors.New("cut off")

// cutAfter lets a walk make n calls.
func cutAfter(n int) func(*reconcile.Options) {
	return func(o *reconcile.Options) {
		modes["folders"](o)
		o.Only, o.Parallel = []string{"main"}, 1
		o.Call = func(context.Context) error {
			if n--; n < 0 {
				return errCut
			}
			return nil
		}
	}
}

// TestResume: an interrupted walk is continued at the last chunk that it saved, by
// any number of runs, and finds what an uninterrupted one finds. Its looks at an
// orphan are one sighting.
func TestResume(t *testing.T) {
	w := newWorld(t)
	for i := range 30 {
		w.put(fmt.Sprint("k", i), fmt.Sprint("body ", i), 1)
		w.later(time.Second)
	}
	w.plant()
	w.later(2 * grace)
	var first ledger.Walk
	places := map[string]bool{}
	runs := 0
	for {
		w.set = cutAfter(1500) // a chunk takes 1,024 calls
		_, err := w.try()
		walks, lerr := w.ledger.Walks(w.ctx, "main", 0)
		w.must(lerr)
		if runs == 0 {
			first = walks[0]
		}
		if walks[0].ID != first.ID || len(walks) != 1 {
			t.Fatalf("walks are %+v", walks)
		}
		places[string(walks[0].Place)] = true
		runs++
		w.later(grace / 100)
		if err == nil {
			break
		}
		w.fails(err, errCut)
	}
	if len(places) < 5 || runs < 5 {
		t.Errorf("it was taken up at %v, in %d runs", places, runs)
	}
	walks, err := w.ledger.Walks(w.ctx, "main", 0)
	w.must(err)
	w.want(walks[0].Counts, counts{reconcile.Orphans: 1})
	if walks[0].Counts[reconcile.Rows] != 30 || walks[0].FinishedAt == 0 {
		t.Errorf("walk is %+v", walks[0])
	}
	w.later(grace)
	w.set = modes["folders"]
	w.want(w.run(), counts{reconcile.Orphans: 1, reconcile.Condemned: 1})
}

// TestGivenUp: a walk that was interrupted days ago is begun anew.
func TestGivenUp(t *testing.T) {
	w := newWorld(t)
	w.put("k", "body", 1)
	w.set = cutAfter(10)
	_, err := w.try()
	w.fails(err, errCut)
	w.later(4 * 24 * time.Hour)
	w.set = modes["folders"]
	w.want(w.run(), counts{})
	walks, err := w.ledger.Walks(w.ctx, "main", 0)
	w.must(err)
	if len(walks) != 2 || walks[0].Outcome != "ok" || walks[1].FinishedAt == 0 {
		t.Errorf("walks are %+v", walks)
	}
}

// TestCallsAreFew: a page of keys costs one call, and a whole small backend one.
func TestCallsAreFew(t *testing.T) {
	w := newWorld(t)
	for i := range 2500 {
		w.main.Set(fmt.Sprintf("foreign/%04d", i), nil)
	}
	calls := 0
	w.set = func(o *reconcile.Options) {
		o.Only = []string{"main"}
		o.Call = func(context.Context) error { calls++; return nil }
	}
	w.want(w.run(), counts{reconcile.Foreign: 2500})
	if calls != 3 {
		t.Errorf("%d calls", calls)
	}
	list, err := w.ledger.Findings(w.ctx, ledger.FindingQuery{})
	w.must(err)
	if len(list) != 2500 {
		t.Errorf("%d findings", len(list))
	}
	w.set = func(o *reconcile.Options) { o.Keep = 100 }
	w.later(time.Hour)
	w.run()
}
