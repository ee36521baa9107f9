package adopttest

import (
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

func variantTests() []test {
	keep, uncounted := Variant{Keep: true}, Variant{Uncounted: true}
	return []test{
		{name: "rows are kept as deleted", run: kept, in: keep},
		{name: "rows that are kept are not due again", run: keptOnce, in: keep},
		{name: "without counts references are looked up", run: lookedUp, in: uncounted},
		{name: "without counts contents are found", run: findUncounted, in: uncounted},
		{name: "without counts a reference is kept away", run: guardedUncounted, in: uncounted},
	}
}

func kept(w *world) {
	w.put("x", -time.Second, "a", "b")
	w.put("x", Never, "lives")
	c, _ := w.claim(9)
	w.settle(c, adopt.Settled{Gone: 2})
	w.states(map[string]State{"a": Deleted, "b": Deleted, "lives": Live})
	w.counts(map[string]int64{"x": 1})
	w.settle(c, adopt.Settled{Lost: 2})
	w.counts(map[string]int64{"x": 1})
}

func keptOnce(w *world) {
	m := w.condemned("x")
	w.confirm(m.Fence, adopt.Confirmed{Gone: 1}, gone("x")...)
	w.states(map[string]State{"of x": Deleted})
	w.counts(map[string]int64{"x": absent})
	w.App.Pass(grace.Watchdog)
	equal(w, "recovered", must(w.Recover(w.ctx, grace.Watchdog, 9))(w), 0)
	equal(w, "due", must(w.Due(w.ctx))(w).Due, 0)
}

func lookedUp(w *world) {
	w.put("x", -time.Second, "a", "b")
	w.put("y", -time.Second, "c")
	w.put("y", Never, "lives")
	equal(w, "gone", w.expire().Gone, 3)
	w.App.Pass(grace.Unreferenced)
	m := w.mark()
	equal(w, "marked", m.Contents, []adopt.Condemned{{Content: "x", Object: ObjectOf("x")}})
	equal(w, "kept", m.Kept, 1)
	equal(w, "drifted", len(m.Drifted), 0)
	w.confirm(m.Fence, adopt.Confirmed{Gone: 1}, gone("x")...)
	w.counts(map[string]int64{"x": absent, "y": 0})
}

func findUncounted(w *world) {
	w.put("x", Never, "a")
	w.put("y", Never, "b")
	w.must(w.App.Delete(w.ctx, "a"))
	n, _ := w.found(9)
	equal(w, "found", n, 1)
	w.App.Pass(grace.Unreferenced)
	equal(w, "marked", w.mark().Contents, []adopt.Condemned{{Content: "x", Object: ObjectOf("x")}})
}

func guardedUncounted(w *world) {
	m := w.condemned("x")
	w.refused("x")
	w.confirm(m.Fence, adopt.Confirmed{Gone: 1}, gone("x")...)
	w.refused("x")
	w.App.Pass(grace.LongestWrite)
	equal(w, "marks ended", must(w.Unmark(w.ctx, 9))(w), 1)
	w.put("x", Never, "again")
}
