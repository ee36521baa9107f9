package adopttest

import (
	"slices"
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

func takeTests() []test {
	unclaimed := Variant{Unclaimed: true}
	return []test{
		{name: "takes the oldest first, up to the limit", run: takeOldest, in: unclaimed},
		{name: "takes what has expired, and counts down", run: takeExpired, in: unclaimed},
		{name: "a count is never below zero for what is taken", run: takeDrifted, in: unclaimed},
		{name: "copies of what was taken are dropped at once, and again", run: takeCopies, in: unclaimed},
		{name: "copies of what was taken are dropped once", run: takeCopiesOnce, in: unclaimed},
	}
}

func (w *world) takes(limit int, want adopt.Settled) {
	w.Helper()
	equal(w, "taken", must(w.Taker.Take(w.ctx, limit, grace.CacheAgain))(w), want)
}

func takeOldest(w *world) {
	w.put("x", -3*time.Second, "third")
	w.put("x", -9*time.Second, "first")
	w.put("x", -5*time.Second, "second")
	w.put("x", time.Hour, "later")
	w.put("x", Never, "never")
	b := must(w.Taker.Due(w.ctx))(w)
	if b.Due != 3 || b.Oldest == 0 {
		w.Errorf("due are %+v", b)
	}
	w.takes(2, adopt.Settled{Gone: 2})
	w.states(map[string]State{"first": Absent, "second": Absent, "third": Live, "later": Live, "never": Live})
	w.takes(2, adopt.Settled{Gone: 1})
	w.takes(2, adopt.Settled{})
	w.counts(map[string]int64{"x": 2})
}

func takeExpired(w *world) {
	w.put("x", -time.Second, "a", "b")
	w.put("x", Never, "lives")
	w.put("y", -time.Second, "c", "extended")
	w.must(w.App.Extend(w.ctx, "extended", time.Hour))
	w.takes(9, adopt.Settled{Gone: 3})
	w.counts(map[string]int64{"x": 1, "y": 1})
	w.App.Pass(time.Hour)
	w.takes(9, adopt.Settled{Gone: 1, Unreferenced: 1})
	w.App.Pass(grace.Unreferenced)
	equal(w, "marked", w.mark().Contents, []adopt.Condemned{{Content: "y", Object: ObjectOf("y")}})
}

func takeDrifted(w *world) {
	w.put("low", -time.Second, "a", "b", "c")
	w.must(w.App.SetCount(w.ctx, "low", 2))
	w.takes(9, adopt.Settled{Gone: 3, Drifted: []string{"low"}})
	w.counts(map[string]int64{"low": 0})
}

// dropped returns the copies that are due, and forgets them.
func (w *world) dropped() (copies []string) {
	w.Helper()
	for _, due := range must(w.DropAgain(w.ctx, 9))(w) {
		copies = append(copies, due.Keys...)
		w.must(w.Dropped(w.ctx, []int64{due.ID}))
	}
	slices.Sort(copies)
	return copies
}

func takeCopies(w *world) {
	w.put("x", -time.Second, "a", "b")
	w.put("x", Never, "lives")
	w.takes(9, adopt.Settled{Gone: 2})
	both := []string{CopyOf("a"), CopyOf("b")}
	equal(w, "due at once", w.dropped(), both)
	w.App.Pass(grace.CacheAgain)
	equal(w, "due again", w.dropped(), both)
	equal(w, "due then", len(w.dropped()), 0)
}

func takeCopiesOnce(w *world) {
	w.put("x", -time.Second, "a")
	w.must(second(w.Taker.Take(w.ctx, 9, 0)))
	equal(w, "due at once", w.dropped(), []string{CopyOf("a")})
	equal(w, "due then", len(w.dropped()), 0)
}
