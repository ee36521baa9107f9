package adopttest

import (
	"errors"
	"slices"
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

func endTests() []test {
	return []test{
		{name: "contents end with their last rows", run: endLast},
		{name: "contents end without counts", run: endLast, in: Variant{Uncounted: true}},
		{name: "contents end with rows that are kept", run: endLast, in: Variant{Keep: true}},
		{name: "what ended is gone once that is confirmed", run: endConfirmed},
		{name: "what ended and failed for certain may come back", run: endFailed},
		{name: "what ended and failed is tried again", run: endAgain},
		{name: "what ended under a silent worker is taken over", run: endSilent},
		{name: "a content that a row refers to past its count does not end", run: endMiscounted},
		{name: "a held object does not end", run: endHeld},
		{name: "a content that waited ends with its next row", run: endWaited},
		{name: "nothing ends that no guard keeps", run: endQuarantined, in: Variant{Quarantine: true}},
	}
}

// ends ends what is due. It returns what was settled, and what is marked, by End or by
// Mark, which may be left to do it.
func (w *world) ends() (adopt.Settled, adopt.Marked) {
	w.Helper()
	c, _ := w.claim(1000)
	settled, marked, err := w.Ender.End(w.ctx, c, adopt.EndRequest{Again: grace.CacheAgain, Late: grace.Late})
	w.must(err)
	if len(marked.Contents) == 0 {
		w.App.Pass(grace.Unreferenced)
		marked = w.mark()
	}
	slices.SortFunc(marked.Contents, func(a, b adopt.Condemned) int { return len(a.Content) - len(b.Content) })
	return settled, marked
}

// endsWith lets the only reference to each content end, and the content with it.
func (w *world) endsWith(contents ...string) adopt.Marked {
	w.Helper()
	for _, c := range contents {
		w.put(c, -time.Second, "of "+c)
	}
	_, m := w.ends()
	if len(m.Contents) != len(contents) {
		w.Fatalf("marked %+v, want %v", m, contents)
	}
	return m
}

func endLast(w *world) {
	w.put("x", -time.Second, "a", "b")
	w.put("long", -time.Second, "c")
	w.put("stays", -time.Second, "d")
	w.put("stays", Never, "e")
	_, m := w.ends()
	equal(w, "marked", m.Contents, []adopt.Condemned{{Content: "x", Object: ObjectOf("x")}, {Content: "long", Object: ObjectOf("long")}})
	equal(w, "of a", must(w.App.State(w.ctx, "e"))(w), Live)
	w.refused("x")
	w.put("stays", Never, "f")
}

func endConfirmed(w *world) {
	m := w.endsWith("x", "long")
	w.confirm(m.Fence, adopt.Confirmed{Gone: 2}, gone("x", "long")...)
	w.counts(map[string]int64{"x": absent, "long": absent})
	w.App.Pass(grace.LongestWrite - margin)
	equal(w, "marks ended too early", must(w.Unmark(w.ctx, 9))(w), 0)
	w.refused("x")
	w.App.Pass(margin)
	equal(w, "marks ended", must(w.Unmark(w.ctx, 9))(w), 2)
	w.put("x", Never, "again")
	w.counts(map[string]int64{"x": 1})
}

func endFailed(w *world) {
	m := w.endsWith("x")
	w.confirm(m.Fence, adopt.Confirmed{Failed: 1}, adopt.Outcome{Content: "x", Failed: "access denied"})
	w.put("x", Never, "again")
	w.App.Pass(time.Hour)
	equal(w, "marked", len(w.mark().Contents), 0)
	w.counts(map[string]int64{"x": 1})
}

func endAgain(w *world) {
	m := w.endsWith("x")
	w.confirm(m.Fence, adopt.Confirmed{Failed: 1}, adopt.Outcome{Content: "x", Failed: "access denied"})
	w.App.Pass(time.Hour)
	m = w.mark()
	equal(w, "marked again", m.Contents, []adopt.Condemned{{Content: "x", Object: ObjectOf("x")}})
	w.confirm(m.Fence, adopt.Confirmed{Gone: 1}, gone("x")...)
	w.counts(map[string]int64{"x": absent})
}

func endSilent(w *world) {
	first := w.endsWith("x")
	equal(w, "taken over too early", len(w.mark().Contents), 0)
	w.App.Pass(grace.Late)
	m := w.mark()
	equal(w, "taken over", m.Contents, first.Contents)
	w.confirm(first.Fence, adopt.Confirmed{Lost: 1}, gone("x")...)
	w.confirm(m.Fence, adopt.Confirmed{Gone: 1}, gone("x")...)
	w.refused("x")
}

func endMiscounted(w *world) {
	w.put("x", -time.Second, "a")
	w.put("x", Never, "b")
	w.must(w.App.SetCount(w.ctx, "x", 1))
	_, m := w.ends()
	equal(w, "marked", len(m.Contents), 0)
	equal(w, "drifted", m.Drifted, []string{"x"})
	w.counts(map[string]int64{"x": 0})
	w.states(map[string]State{"b": Live})
}

func endHeld(w *world) {
	_, _, err := w.AddHold(w.ctx, adopt.Hold{Scope: adopt.HoldObject, Key: ObjectOf("x"), Reason: "wanted", By: "somebody"})
	w.must(err)
	w.put("x", -time.Second, "a")
	_, m := w.ends()
	equal(w, "marked", len(m.Contents), 0)
	equal(w, "held", m.Held, 1)
	w.counts(map[string]int64{"x": 0})
}

func endWaited(w *world) {
	w.put("x", -time.Second, "a")
	w.expire()
	w.put("x", -time.Second, "b")
	_, m := w.ends()
	equal(w, "marked", m.Contents, []adopt.Condemned{{Content: "x", Object: ObjectOf("x")}})
	w.refused("x")
	w.confirm(m.Fence, adopt.Confirmed{Gone: 1}, gone("x")...)
	w.counts(map[string]int64{"x": absent})
}

func endQuarantined(w *world) {
	w.put("x", -time.Second, "a")
	c, _ := w.claim(9)
	settled, marked, err := w.Ender.End(w.ctx, c, adopt.EndRequest{Late: grace.Late})
	w.must(err)
	equal(w, "settled", settled, adopt.Settled{Gone: 1, Unreferenced: 1})
	equal(w, "marked", len(marked.Contents), 0)
	if err := w.App.Put(w.ctx, Row{"again", "x", Never}); errors.Is(err, ErrRefused) {
		w.Error("a reference was refused")
	}
}
