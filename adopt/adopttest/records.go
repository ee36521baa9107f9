package adopttest

import (
	"slices"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
)

func recordTests() []test {
	return []test{
		{name: "claims the oldest first, up to the limit", run: claimOldest},
		{name: "what never ends and what has not ended is not due", run: notDue},
		{name: "claims of parallel workers are disjoint", run: claimDisjoint},
		{name: "settles what has expired, and counts down", run: settleExpired},
		{name: "settles once", run: settleOnce},
		{name: "what was extended meanwhile goes back", run: settleExtended},
		{name: "counts what a row names when it goes", run: settleReplaced},
		{name: "what was deleted meanwhile is lost", run: settleDeleted},
		{name: "a late worker settles and releases nothing", run: lateWorker},
		{name: "releases a claim", run: release},
		{name: "recovers what is too old, up to the limit", run: recovered},
		{name: "a count is never below zero", run: drifted},
		{name: "counts what is due", run: due},
	}
}

func claimOldest(w *world) {
	w.put("x", -3*time.Second, "third")
	w.put("x", -9*time.Second, "first")
	w.put("x", -5*time.Second, "second")
	c, keys := w.claim(2)
	equal(w, "claimed", keys, []string{"first", "second"})
	equal(w, "copies", c.Rows[0].Copies, []string{CopyOf("first")})
	_, keys = w.claim(2)
	equal(w, "claimed then", keys, []string{"third"})
	_, keys = w.claim(2)
	equal(w, "claimed at last", keys, []string{})
	w.states(map[string]State{"first": Claimed, "second": Claimed, "third": Claimed})
}

func notDue(w *world) {
	w.put("x", Never, "never")
	w.put("x", time.Hour, "later")
	if _, keys := w.claim(9); len(keys) != 0 {
		w.Errorf("claimed %v", keys)
	}
	w.App.Pass(time.Hour)
	_, keys := w.claim(9)
	equal(w, "claimed at its end", keys, []string{"later"})
	w.App.Pass(100 * 365 * 24 * time.Hour)
	_, keys = w.claim(9)
	equal(w, "claimed a century later", keys, []string{})
}

func claimDisjoint(w *world) {
	w.put("x", -time.Second, names("row", 60)...)
	var mu sync.Mutex
	var keys []string
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				c, err := w.Claim(w.ctx, 7)
				if err != nil || len(c.Rows) == 0 {
					if err != nil {
						w.Error(err)
					}
					return
				}
				mu.Lock()
				for _, r := range c.Rows {
					keys = append(keys, r.Key)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(keys)
	equal(w, "claimed by all", keys, names("row", 60))
}

func settleExpired(w *world) {
	w.put("x", -time.Second, "a", "b")
	w.put("x", Never, "lives")
	w.put("y", -time.Second, "c")
	c, _ := w.claim(9)
	w.settle(c, adopt.Settled{Gone: 3, Unreferenced: 1})
	w.states(map[string]State{"a": Absent, "b": Absent, "c": Absent, "lives": Live})
	w.counts(map[string]int64{"x": 1, "y": 0})
	w.App.Pass(grace.Unreferenced)
	equal(w, "marked", w.mark().Contents, []adopt.Condemned{{Content: "y", Object: ObjectOf("y")}})
}

func settleOnce(w *world) {
	w.put("x", -time.Second, "a")
	w.put("x", Never, "lives")
	c, _ := w.claim(9)
	w.settle(c, adopt.Settled{Gone: 1})
	w.settle(c, adopt.Settled{Lost: 1})
	w.counts(map[string]int64{"x": 1})
}

func settleExtended(w *world) {
	w.put("x", -time.Second, "a", "b", "c")
	c, _ := w.claim(9)
	w.must(w.App.Extend(w.ctx, "a", time.Hour))
	w.must(w.App.Extend(w.ctx, "b", Never))
	w.settle(c, adopt.Settled{Gone: 1, Returned: 2})
	w.states(map[string]State{"a": Live, "b": Live, "c": Absent})
	w.counts(map[string]int64{"x": 2})
	w.App.Pass(time.Hour)
	_, keys := w.claim(9)
	equal(w, "claimed at the new end", keys, []string{"a"})
}

func settleReplaced(w *world) {
	w.put("x", -time.Second, "a", "b")
	w.put("y", Never, "lives")
	c, _ := w.claim(9)
	w.must(w.App.Replace(w.ctx, "a", "y"))
	w.counts(map[string]int64{"x": 1, "y": 2})
	w.settle(c, adopt.Settled{Gone: 2, Unreferenced: 1})
	w.counts(map[string]int64{"x": 0, "y": 1})
}

func settleDeleted(w *world) {
	w.put("x", -time.Second, "a", "b")
	c, _ := w.claim(9)
	w.must(w.App.Delete(w.ctx, "a"))
	// The name is used again, by a row that lives.
	w.put("y", Never, "a")
	w.settle(c, adopt.Settled{Gone: 1, Lost: 1, Unreferenced: 1})
	w.states(map[string]State{"a": Live, "b": Absent})
	w.counts(map[string]int64{"x": 0, "y": 1})
}

func lateWorker(w *world) {
	w.put("x", -time.Second, "a", "b")
	late, _ := w.claim(9)
	w.App.Pass(grace.Watchdog)
	equal(w, "recovered", must(w.Recover(w.ctx, grace.Watchdog, 9))(w), 2)
	w.settle(late, adopt.Settled{Lost: 2})
	w.App.Pass(time.Second)
	again, keys := w.claim(9)
	equal(w, "claimed again", keys, []string{"a", "b"})
	w.settle(late, adopt.Settled{Lost: 2})
	equal(w, "released", must(w.Release(w.ctx, late))(w), 0)
	w.states(map[string]State{"a": Claimed, "b": Claimed})
	w.settle(again, adopt.Settled{Gone: 2, Unreferenced: 1})
}

func release(w *world) {
	w.put("x", -time.Second, "a", "b")
	c, _ := w.claim(9)
	w.must(w.App.Delete(w.ctx, "b"))
	equal(w, "released", must(w.Release(w.ctx, c))(w), 1)
	w.states(map[string]State{"a": Live})
	equal(w, "released again", must(w.Release(w.ctx, c))(w), 0)
	w.settle(c, adopt.Settled{Lost: 2})
	_, keys := w.claim(9)
	equal(w, "claimed again", keys, []string{"a"})
}

func recovered(w *world) {
	w.put("x", -time.Second, "a", "b", "c")
	w.claim(2)
	w.App.Pass(time.Minute)
	w.claim(2)
	w.App.Pass(grace.Watchdog - 2*time.Minute)
	equal(w, "recovered too early", must(w.Recover(w.ctx, grace.Watchdog, 9))(w), 0)
	w.App.Pass(time.Minute)
	equal(w, "recovered", must(w.Recover(w.ctx, grace.Watchdog, 1))(w), 1)
	equal(w, "recovered then", must(w.Recover(w.ctx, grace.Watchdog, 9))(w), 1)
	w.App.Pass(time.Minute)
	equal(w, "recovered at last", must(w.Recover(w.ctx, grace.Watchdog, 9))(w), 1)
	_, keys := w.claim(9)
	equal(w, "claimed again", len(keys), 3)
}

func drifted(w *world) {
	w.put("low", -time.Second, "a", "b", "c")
	w.put("right", -time.Second, "d")
	w.must(w.App.SetCount(w.ctx, "low", 2))
	c, _ := w.claim(9)
	w.settle(c, adopt.Settled{Gone: 4, Unreferenced: 1, Drifted: []string{"low"}})
	w.counts(map[string]int64{"low": 0, "right": 0})
}

func due(w *world) {
	equal(w, "due of nothing", must(w.Due(w.ctx))(w), adopt.Backlog{})
	w.put("x", -time.Hour, "a")
	w.put("x", -time.Minute, "b", "c")
	w.put("x", time.Minute, "later")
	b := must(w.Due(w.ctx))(w)
	equal(w, "due", b.Due, 3)
	w.claim(1)
	c := must(w.Due(w.ctx))(w)
	equal(w, "due after a claim", c.Due, 2)
	if d := c.Oldest.Sub(b.Oldest); d < 58*time.Minute || d > time.Hour {
		w.Errorf("the oldest was due at %v, then at %v", b.Oldest, c.Oldest)
	}
}

func cachedTests() []test {
	return []test{
		{name: "copies of what is gone are dropped once more", run: droppedAgain},
		{name: "copies are due later", run: droppedLater},
		{name: "copies under the keys of a row that was changed meanwhile are dropped", run: droppedChanged, in: Variant{ByContent: true}},
		{name: "of two claims with one stamp the late one drops what the other has read", run: droppedOfBoth, in: Variant{ByContent: true, Seconds: true}},
	}
}

func droppedAgain(w *world) {
	w.put("x", -time.Second, "a", "b", "extended")
	c, _ := w.claim(9)
	w.must(w.App.Extend(w.ctx, "extended", Never))
	w.must(second(w.Settle(w.ctx, c, 0)))
	due := must(w.DropAgain(w.ctx, 9))(w)
	if len(due) != 1 {
		w.Fatalf("due are %+v", due)
	}
	slices.Sort(due[0].Keys)
	equal(w, "copies", due[0].Keys, []string{CopyOf("a"), CopyOf("b")})
	equal(w, "due until it is dropped", len(must(w.DropAgain(w.ctx, 9))(w)), 1)
	w.must(w.Dropped(w.ctx, []int64{due[0].ID}))
	equal(w, "due then", len(must(w.DropAgain(w.ctx, 9))(w)), 0)
}

func droppedLater(w *world) {
	w.put("x", -2*time.Second, "a")
	w.put("x", -time.Second, "b")
	for range 2 {
		c, _ := w.claim(1)
		w.must(second(w.Settle(w.ctx, c, time.Minute)))
		w.App.Pass(time.Second)
	}
	equal(w, "due at once", len(must(w.DropAgain(w.ctx, 9))(w)), 0)
	w.App.Pass(time.Minute)
	due := must(w.DropAgain(w.ctx, 1))(w)
	if len(due) != 1 || !slices.Equal(due[0].Keys, []string{CopyOf("a")}) {
		w.Errorf("due first are %+v", due)
	}
	equal(w, "due in all", len(must(w.DropAgain(w.ctx, 9))(w)), 2)
}

func droppedChanged(w *world) {
	w.put("x", -time.Second, "a", "b")
	c, _ := w.claim(9)
	w.must(w.App.Replace(w.ctx, "a", "y"))
	w.settle(c, adopt.Settled{Gone: 2, Unreferenced: 2})
	equal(w, "due at once", w.dropped(), []string{CopyByContent("y")})
	w.App.Pass(grace.CacheAgain)
	equal(w, "due again", w.dropped(), []string{CopyByContent("x"), CopyByContent("x"), CopyByContent("y"), CopyOf("a"), CopyOf("b")})
}

// droppedOfBoth: the worker of the second claim dies before it drops anything.
func droppedOfBoth(w *world) {
	w.put("x", -time.Minute, "a")
	var late, dead adopt.Claim
	// The same half of a second is the same second, however it is rounded.
	for half := lethe.Time(500_000); late.At == 0 || late.At/half != dead.At/half; {
		must(w.Release(w.ctx, dead))(w)
		late, _ = w.claim(9)
		must(w.Release(w.ctx, late))(w)
		dead, _ = w.claim(9)
	}
	w.must(w.App.Replace(w.ctx, "a", "y"))
	w.settle(late, adopt.Settled{Gone: 1, Unreferenced: 1})
	w.settle(dead, adopt.Settled{Lost: 1})
	w.states(map[string]State{"a": Absent})
	w.counts(map[string]int64{"x": 0, "y": 0})
	equal(w, "due at once", w.dropped(), []string{CopyByContent("y")})
	w.App.Pass(grace.CacheAgain)
	equal(w, "due again", w.dropped(), []string{CopyByContent("x"), CopyByContent("y"), CopyOf("a")})
}

// second leaves a result out.
func second[T any](_ T, err error) error { return err }
