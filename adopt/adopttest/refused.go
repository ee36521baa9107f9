package adopttest

import (
	"context"
	"errors"
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

func refusedTests() []test {
	unclaimed := Variant{Unclaimed: true}
	return []test{
		{name: "a claim of which one row is refused is as it was", run: refusedWhole},
		{name: "rows go although the database refuses some", run: refusedExpire},
		{name: "rows are taken although the database refuses some", run: refusedTake, in: unclaimed},
	}
}

// pin inserts rows that end at once, of which some cannot go.
func (w *world) pin() {
	w.put("x", -time.Second, "a", "b", "c", "d", "e")
	for _, key := range []string{"b", "e"} {
		w.must(w.App.Pin(w.ctx, key, true))
	}
}

func refusedWhole(w *world) {
	w.pin()
	c, _ := w.claim(9)
	_, err := w.Settle(w.ctx, c, 0)
	var refused *adopt.Refusal
	if !errors.As(err, &refused) || len(refused.Rows) != 5 {
		w.Fatalf("settled: %v", err)
	}
	w.states(map[string]State{"a": Claimed, "b": Claimed, "e": Claimed})
	w.counts(map[string]int64{"x": 5})
}

// routine is adopt.Expire or adopt.Take.
type routine interface {
	Pass(string) func(ctx context.Context, add func(string, int64)) (bool, error)
}

func (w *world) passes(r routine, want map[string]int64) {
	w.Helper()
	got := map[string]int64{}
	for what := range want {
		got[what] = 0
	}
	step := r.Pass("worker")
	for more, err := true, error(nil); more; {
		if more, err = step(w.ctx, func(what string, n int64) {
			if _, asked := want[what]; asked {
				got[what] += n
			}
		}); err != nil {
			w.Fatal(err)
		}
	}
	equal(w, "a pass did", got, want)
}

func (w *world) refuse(r routine) {
	w.Helper()
	w.pin()
	w.passes(r, map[string]int64{"rows": 3, "refused": 2})
	w.states(map[string]State{"a": Absent, "b": Live, "c": Absent, "d": Absent, "e": Live})
	w.counts(map[string]int64{"x": 2})
	// They rest, and whoever comes after them goes.
	w.put("x", -time.Second, "f")
	w.passes(r, map[string]int64{"rows": 1, "refused": 0})
	w.App.Pass(adopt.RefusedRest)
	w.must(w.App.Pin(w.ctx, "b", false))
	w.passes(r, map[string]int64{"rows": 1, "refused": 1})
	w.must(w.App.Pin(w.ctx, "e", false))
	w.passes(r, map[string]int64{"rows": 0, "refused": 0})
	w.App.Pass(adopt.RefusedRest)
	w.passes(r, map[string]int64{"rows": 1, "refused": 0})
	w.counts(map[string]int64{"x": 0})
}

func refusedExpire(w *world) {
	w.refuse(&adopt.Expire{Collection: "pastes", Records: w.Records, Holds: w.Holder, Grace: grace, Batch: 9})
}

func refusedTake(w *world) {
	w.refuse(&adopt.Take{Collection: "pastes", Records: w.Taker, Holds: w.Holder, Grace: grace, Batch: 9})
}
