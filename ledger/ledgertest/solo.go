package ledgertest

import (
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func soloTests() []test {
	return []test{
		{"a run is alone", soloAlone, nil},
		{"a stale run is taken over", soloTakenOver, nil},
		{"what a worker left over", soloLeftOver, nil},
		{"a success that was not seen", soloSucceeded, nil},
		{"of two successes the one that began later", soloOrder, nil},
		{"a failure postpones nothing", soloFailed, nil},
		{"of two that begin at once", soloAtOnce, nil},
		{"other runs are no matter", soloOthers, nil},
		{"stale runs end", staleRunsEnd, nil},
	}
}

const soloStale = time.Minute

// solo asks to begin a run of verify as a worker.
func (w *world) solo(worker string, seen lethe.Time) (lethe.ID, ledger.SoloResult) {
	w.Helper()
	r := ledger.Run{ID: w.id(), Routine: "verify", Worker: worker}
	return r.ID, must(w.BeginRun(w.ctx, ledger.Solo{Run: r, Stale: soloStale, Seen: seen}))(w)
}

func (w *world) begins(worker string, seen lethe.Time) lethe.ID {
	w.Helper()
	id, b := w.solo(worker, seen)
	if !b.OK || b.Other != nil {
		w.Fatalf("did not begin: %+v", b)
	}
	return id
}

func (w *world) keptFrom(seen lethe.Time, other lethe.ID) {
	w.Helper()
	_, b := w.solo("late", seen)
	if b.OK || b.Other == nil || b.Other.ID != other {
		w.Fatalf("got %+v; want to be kept by %s", b, other)
	}
}

func soloAlone(w *world) {
	id := w.begins("a", 0)
	began := w.now()
	equal(w, "run", plain(w.last("verify")), plain(ledger.Run{ID: id, Routine: "verify", Worker: "a", StartedAt: began, BeatAt: began}))
	w.later(soloStale - time.Microsecond)
	w.keptFrom(lethe.Forever, id)
	w.ok(w.BeatRun(w.ctx, id, nil))
	w.later(soloStale - time.Microsecond)
	w.keptFrom(lethe.Forever, id)
	w.ok(w.FinishRun(w.ctx, id, "ok", nil))
	w.begins("b", lethe.Forever)
}

func soloTakenOver(w *world) {
	first := w.begins("dead", 0)
	w.later(soloStale)
	second, b := w.solo("b", 0)
	if !b.OK || len(b.Ended) != 1 || b.Ended[0].ID != first || b.Ended[0].Worker != "dead" || b.Ended[0].Outcome != "interrupted" || b.Ended[0].FinishedAt != w.now() {
		w.Fatalf("got %+v", b)
	}
	w.fails(w.BeatRun(w.ctx, first, nil), lethe.ErrFenced)
	w.fails(w.FinishRun(w.ctx, first, "ok", nil), lethe.ErrFenced)
	w.ok(w.FinishRun(w.ctx, second, "ok", nil))
}

func soloLeftOver(w *world) {
	first := w.begins("a", 0)
	second, b := w.solo("a", 0)
	if !b.OK || len(b.Ended) != 1 || b.Ended[0].ID != first {
		w.Fatalf("got %+v", b)
	}
	w.fails(w.BeatRun(w.ctx, first, nil), lethe.ErrFenced)
	w.ok(w.BeatRun(w.ctx, second, nil))
}

func soloSucceeded(w *world) {
	seen := w.begins("a", 0)
	began := w.last("verify").StartedAt
	w.ok(w.FinishRun(w.ctx, seen, "ok", nil))
	w.later(time.Second)
	newer := w.begins("b", began)
	w.ok(w.FinishRun(w.ctx, newer, "ok", nil))
	w.keptFrom(began, newer)
	w.begins("c", w.last("verify").StartedAt)
}

// soloOrder: the id of a run is made before it begins, so the newest run may have the
// smaller one. The newest success must be found nonetheless, or no run begins again.
func soloOrder(w *world) {
	early, late := w.id(), w.id()
	for _, id := range []lethe.ID{late, early} {
		w.later(time.Second)
		b := must(w.BeginRun(w.ctx, ledger.Solo{Run: ledger.Run{ID: id, Routine: "verify", Worker: "a"}, Stale: soloStale, Seen: lethe.Forever}))(w)
		equal(w, "begun", b.OK, true)
		w.ok(w.FinishRun(w.ctx, id, "ok", nil))
	}
	last, good, err := w.LastRuns(w.ctx)
	w.ok(err)
	equal(w, "last", last["verify"].ID, early)
	equal(w, "last success", good["verify"].ID, early)
	w.begins("b", good["verify"].StartedAt)
}

func soloFailed(w *world) {
	good := w.begins("a", 0)
	began := w.last("verify").StartedAt
	w.ok(w.FinishRun(w.ctx, good, "ok", nil))
	w.later(time.Second)
	bad := w.begins("b", began)
	w.ok(w.FinishRun(w.ctx, bad, "failed: x", nil))
	w.begins("c", began)
}

func soloAtOnce(w *world) {
	const askers = 8
	var reqs [askers]ledger.Solo
	for i := range reqs {
		reqs[i] = ledger.Solo{Run: ledger.Run{ID: w.id(), Routine: "verify", Worker: string(rune('a' + i))}, Stale: soloStale}
	}
	var begun [askers]ledger.SoloResult
	var errs [askers]error
	var all sync.WaitGroup
	for i, r := range reqs {
		all.Go(func() { begun[i], errs[i] = w.BeginRun(w.ctx, r) })
	}
	all.Wait()
	n := 0
	for i, b := range begun {
		w.ok(errs[i])
		if b.OK {
			n++
		}
	}
	equal(w, "began", n, 1)
}

func soloOthers(w *world) {
	w.start("verify", "old") // as a routine that may run concurrently
	r := ledger.Run{ID: w.id(), Routine: "checksums", Worker: "a"}
	if b := must(w.BeginRun(w.ctx, ledger.Solo{Run: r, Stale: soloStale}))(w); !b.OK {
		w.Fatalf("got %+v", b)
	}
	id := w.begins("a", 0)
	w.unchanged(func() {
		_, err := w.BeginRun(w.ctx, ledger.Solo{Run: ledger.Run{ID: r.ID, Routine: "reconcile"}, Stale: soloStale})
		w.broken(err)
	})
	w.keptFrom(lethe.Forever, id)
}

func staleRunsEnd(w *world) {
	w.start("clean", "dead")
	solo := w.begins("dead", 0)
	done := w.start("reap", "dead")
	w.ok(w.FinishRun(w.ctx, done, "ok", nil))
	w.later(soloStale / 2)
	live := w.start("expire", "here")
	equal(w, "ended", len(must(w.EndStaleRuns(w.ctx, soloStale))(w)), 0)
	w.later(soloStale / 2)
	ended := must(w.EndStaleRuns(w.ctx, soloStale))(w)
	equal(w, "ended", len(ended), 2)
	for _, r := range ended {
		if r.Worker != "dead" || r.Outcome != "interrupted" || r.FinishedAt != w.now() {
			w.Fatalf("ended %+v", r)
		}
	}
	w.fails(w.BeatRun(w.ctx, solo, nil), lethe.ErrFenced)
	w.ok(w.BeatRun(w.ctx, live, nil))
	w.begins("b", 0)
}
