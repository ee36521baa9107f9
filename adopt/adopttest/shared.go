package adopttest

import (
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

func sharedTests() []test {
	shared := Variant{Shared: true}
	return []test{
		{name: "what another table names is not marked, whatever its count", run: sharedMark, in: shared},
		{name: "what another table names does not end, whatever its count", run: sharedEnd, in: shared},
		{name: "what another table names is not found, whatever its count", run: sharedFind, in: shared},
		{name: "what another table names by then is not removed", run: sharedConfirm, in: shared},
		{name: "what another table names stays in its place", run: sharedMoves, in: Variant{Shared: true, Quarantine: true}},
	}
}

// uncounted lets another table refer to a content that does not count it.
func (w *world) uncounted(contents ...string) {
	w.Helper()
	for _, c := range contents {
		w.must(w.App.Pin(w.ctx, c, true))
	}
}

func sharedMark(w *world) {
	w.put("x", -time.Second, "a")
	w.put("y", -time.Second, "b")
	w.uncounted("x")
	equal(w, "settled", w.expire(), adopt.Settled{Gone: 2, Unreferenced: 2})
	w.App.Pass(grace.Unreferenced)
	m := w.mark()
	equal(w, "marked", m.Contents, []adopt.Condemned{{Content: "y", Object: ObjectOf("y")}})
	equal(w, "drifted", m.Drifted, []string{"x"})
	w.put("x", Never, "c")
	w.counts(map[string]int64{"x": 1})
	equal(w, "wrong", must(w.Troubles.Troubles(w.ctx))(w), adopt.Troubles{Drifted: 1})
}

func sharedEnd(w *world) {
	w.put("x", -time.Second, "a")
	w.put("y", -time.Second, "b")
	w.uncounted("x")
	settled, m := w.ends()
	equal(w, "gone", settled.Gone, 2)
	equal(w, "marked", m.Contents, []adopt.Condemned{{Content: "y", Object: ObjectOf("y")}})
	w.counts(map[string]int64{"x": 0})
	w.states(map[string]State{"a": Absent, "b": Absent})
	w.App.Pass(grace.Unreferenced)
	equal(w, "marked then", len(w.mark().Contents), 0)
}

func sharedFind(w *world) {
	w.put("x", Never, "a")
	w.uncounted("x")
	w.must(w.App.Delete(w.ctx, "a"))
	n, _ := w.found(9)
	equal(w, "found", n, 0)
	w.must(w.App.Pin(w.ctx, "x", false))
	n, _ = w.found(9)
	equal(w, "found without it", n, 1)
}

func sharedConfirm(w *world) {
	m := w.condemned("x", "y", "z")
	w.uncounted("y")
	w.confirm(m.Fence, adopt.Confirmed{Gone: 3, Broken: []string{"y"}}, gone("x", "y", "z")...)
	w.counts(map[string]int64{"x": absent, "y": 0, "z": absent})
}

func sharedMoves(w *world) {
	w.put("x", -time.Second, "a")
	w.uncounted("x")
	w.expire()
	w.App.Pass(grace.Unreferenced)
	equal(w, "marked", len(w.mark().Contents), 0)
}
