package adopttest

import (
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

func troubleTests() []test {
	return []test{
		{name: "an object that is referred to past the guard is on record while it is", run: troubleBroken},
		{name: "without counts as well", run: troubleBroken, in: Variant{Uncounted: true}},
		{name: "an object that nothing refers to any more is forgotten", run: troubleOver},
		{name: "a reference to what may be gone any time is on record", run: troublePast},
		{name: "missing objects come in pages", run: troublePages},
		{name: "a lost copy is on record", run: troubleLost, in: Variant{Quarantine: true}},
		{name: "a count that was too low is on record for a day", run: troubleDrifted},
		{name: "a count of 0 that is wrong is on record as long as it is", run: troubleZero},
		{name: "rows that are stuck are counted", run: troubleStuck},
	}
}

// wrong compares what is on record.
func (w *world) wrong(want adopt.Troubles) {
	w.Helper()
	equal(w, "wrong", must(w.Troubles.Troubles(w.ctx))(w), want)
}

// reviewed looks again, and compares the objects that are left.
func (w *world) reviewed(want ...string) {
	w.Helper()
	left, next, err := w.Troubles.Review(w.ctx, "", 100)
	w.must(err)
	equal(w, "left", len(left), len(want))
	for i, key := range left {
		equal(w, "left", key, ObjectOf(want[i]))
	}
	equal(w, "next", next, "")
}

// broken lets the objects of contents go while a row refers to each past the guard.
func (w *world) broken(contents ...string) {
	w.Helper()
	m := w.condemned(contents...)
	for _, c := range contents {
		w.must(w.App.Refer(w.ctx, Row{"past " + c, c, Never}))
	}
	w.confirm(m.Fence, adopt.Confirmed{Gone: len(contents), Broken: contents}, gone(contents...)...)
}

func troubleBroken(w *world) {
	w.wrong(adopt.Troubles{})
	w.broken("x", "y")
	w.wrong(adopt.Troubles{Missing: 2})
	w.reviewed("x", "y")
	w.must(w.Troubles.Mended(w.ctx, objectsOf("x", "never")))
	w.wrong(adopt.Troubles{Missing: 1})
	w.reviewed("y")
}

func troubleOver(w *world) {
	w.broken("y")
	w.must(w.App.SetCount(w.ctx, "y", 1))
	w.must(w.App.Delete(w.ctx, "past y"))
	w.reviewed()
	w.wrong(adopt.Troubles{})
}

func troublePast(w *world) {
	w.condemned("x")
	w.must(w.App.Refer(w.ctx, Row{"past", "x", Never}))
	w.App.Pass(grace.Late)
	w.mark()
	w.wrong(adopt.Troubles{Missing: 1})
	w.reviewed("x")
}

func troublePages(w *world) {
	contents := names("content", 5)
	w.broken(contents...)
	var keys []string
	for after := ""; ; {
		left, next, err := w.Troubles.Review(w.ctx, after, 2)
		w.must(err)
		keys = append(keys, left...)
		if after = next; next == "" {
			break
		}
	}
	equal(w, "keys", keys, objectsOf(contents...))
}

func troubleLost(w *world) {
	w.away("x", "y")
	w.put("x", Never, "again")
	fence := w.taken(adopt.ClaimRequest{Keys: objectsOf("x"), For: adopt.Restoring}, "x")
	w.ended(fence+2, objectsOf("x"), adopt.Lost)
	w.wrong(adopt.Troubles{})
	w.ended(fence, objectsOf("x"), adopt.Lost, "x")
	equal(w, "state", w.record("x").State, 0)
	w.wrong(adopt.Troubles{Missing: 1})
	w.reviewed("x")
}

func troubleDrifted(w *world) {
	w.put("x", -time.Second, "a", "b")
	w.must(w.App.SetCount(w.ctx, "x", 1))
	equal(w, "drifted", w.expire().Drifted, []string{"x"})
	w.wrong(adopt.Troubles{Drifted: 1})
	w.App.Pass(adopt.DriftShown - margin)
	w.reviewed()
	w.wrong(adopt.Troubles{Drifted: 1})
	w.App.Pass(margin)
	w.reviewed()
	w.wrong(adopt.Troubles{})
}

func troubleZero(w *world) {
	w.put("x", Never, "row")
	w.put("x", -time.Second, "ends")
	w.must(w.App.SetCount(w.ctx, "x", 1))
	w.expire()
	w.App.Pass(grace.Unreferenced)
	equal(w, "drifted", w.mark().Drifted, []string{"x"})
	w.App.Pass(adopt.DriftShown)
	w.reviewed()
	w.wrong(adopt.Troubles{Drifted: 1})
	w.must(w.App.SetCount(w.ctx, "x", 1))
	w.reviewed()
	w.wrong(adopt.Troubles{})
}

func troubleStuck(w *world) {
	w.put("x", -time.Second, "a", "b")
	w.claim(9)
	w.App.Pass(grace.Watchdog - margin)
	w.wrong(adopt.Troubles{})
	w.App.Pass(margin)
	w.wrong(adopt.Troubles{Stuck: 2})
	must(w.Recover(w.ctx, grace.Watchdog, 9))(w)
	w.wrong(adopt.Troubles{})
}
