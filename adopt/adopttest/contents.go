package adopttest

import (
	"errors"
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

func contentTests() []test {
	return []test{
		{name: "waits for its grace", run: waitsForGrace},
		{name: "grace begins with the last reference", run: graceBeginsAgain},
		{name: "finds what lost its references by other hands", run: find},
		{name: "finds page by page", run: findPages},
		{name: "keeps what is referenced again", run: markKeeps},
		{name: "a count of zero that is wrong condemns nothing", run: markDrifted},
		{name: "passes over what the application has locked", run: markBusy},
		{name: "keeps new references away", run: guarded},
		{name: "marks are of one worker", run: markOnce},
		{name: "marks of a silent worker are taken over", run: takenOver},
		{name: "counts what waits", run: countsWaiting},
	}
}

func waitsForGrace(w *world) {
	w.put("x", -time.Second, "a")
	w.expire()
	w.App.Pass(grace.Unreferenced - margin)
	equal(w, "marked too early", w.mark(), adopt.Marked{})
	w.App.Pass(margin)
	m := w.mark()
	equal(w, "marked", m.Contents, []adopt.Condemned{{Content: "x", Object: ObjectOf("x")}})
	if m.Fence == 0 {
		w.Error("there is no fence")
	}
}

func graceBeginsAgain(w *world) {
	w.put("x", -time.Second, "a")
	w.expire()
	w.App.Pass(grace.Unreferenced - margin)
	w.put("x", -time.Second, "b")
	w.expire()
	w.App.Pass(margin)
	equal(w, "marked too early", len(w.mark().Contents), 0)
	w.App.Pass(grace.Unreferenced)
	equal(w, "marked", len(w.mark().Contents), 1)
}

// found goes through all pages.
func (w *world) found(limit int) (n, pages int) {
	w.Helper()
	for after := ""; ; {
		some, next, err := w.Find(w.ctx, after, limit, grace.Unreferenced)
		w.must(err)
		n, pages = n+some, pages+1
		if next == "" {
			return n, pages
		}
		after = next
	}
}

func find(w *world) {
	w.put("x", Never, "a")
	w.put("lives", Never, "b")
	w.must(w.App.Refer(w.ctx, Row{"c", "lives", Never}))
	w.must(w.App.SetCount(w.ctx, "zero but referenced", 0))
	w.must(w.App.Refer(w.ctx, Row{"d", "zero but referenced", Never}))
	w.must(w.App.Delete(w.ctx, "a"))
	n, _ := w.found(9)
	equal(w, "found", n, 1)
	n, _ = w.found(9)
	equal(w, "found again", n, 0)
	w.App.Pass(grace.Unreferenced)
	equal(w, "marked", w.mark().Contents, []adopt.Condemned{{Content: "x", Object: ObjectOf("x")}})
	n, _ = w.found(9)
	equal(w, "found while it is condemned", n, 0)
}

// A page is so many contents that were looked at, whether they are found or not.
func findPages(w *world) {
	for _, c := range names("content", 10) {
		w.must(w.App.SetCount(w.ctx, c, 0))
	}
	for _, c := range names("referenced", 10) {
		w.must(w.App.Refer(w.ctx, Row{c, c, Never}))
		w.must(w.App.SetCount(w.ctx, c, 0))
	}
	n, pages := w.found(4)
	equal(w, "found", n, 10)
	equal(w, "pages", pages, 6)
	w.App.Pass(grace.Unreferenced)
	equal(w, "marked", len(w.mark().Contents), 10)
}

func markKeeps(w *world) {
	w.put("x", -time.Second, "a")
	w.put("y", -time.Second, "b")
	w.expire()
	w.put("x", Never, "c")
	w.App.Pass(grace.Unreferenced)
	m := w.mark()
	equal(w, "marked", m.Contents, []adopt.Condemned{{Content: "y", Object: ObjectOf("y")}})
	equal(w, "kept", m.Kept, 1)
	equal(w, "drifted", len(m.Drifted), 0)
	w.put("x", Never, "d") // nothing keeps it away
	w.counts(map[string]int64{"x": 2, "y": 0})
}

func markDrifted(w *world) {
	w.put("x", -time.Second, "a")
	w.expire()
	w.must(w.App.Refer(w.ctx, Row{"b", "x", Never}))
	w.App.Pass(grace.Unreferenced)
	m := w.mark()
	equal(w, "marked", len(m.Contents), 0)
	equal(w, "kept", m.Kept, 1)
	equal(w, "drifted", m.Drifted, []string{"x"})
	w.put("x", Never, "c")
	w.counts(map[string]int64{"x": 1})
}

func markBusy(w *world) {
	w.put("x", -time.Second, "a")
	w.expire()
	w.App.Pass(grace.Unreferenced)
	unlock, err := w.App.Lock(w.ctx, "x")
	if errors.Is(err, ErrAlone) {
		w.Skip(err)
	}
	w.must(err)
	m := w.mark()
	unlock()
	equal(w, "marked", len(m.Contents), 0)
	equal(w, "busy", m.Busy, 1)
	w.put("x", -time.Second, "b")
	w.expire()
	w.App.Pass(grace.Unreferenced)
	equal(w, "marked then", len(w.mark().Contents), 1)
}

func guarded(w *world) {
	w.put("free", Never, "a", "b")
	m := w.condemned("x")
	w.refused("x")
	w.put("free", Never, "c")
	if err := w.App.Replace(w.ctx, "a", "x"); !errors.Is(err, ErrRefused) {
		w.Errorf("a row that is to name a condemned content: %v, want ErrRefused", err)
	}
	w.counts(map[string]int64{"x": 0, "free": 3})
	w.confirm(m.Fence, adopt.Confirmed{Gone: 1}, gone("x")...)
	w.refused("x") // who uploaded before the delete must not commit after it
	w.counts(map[string]int64{"x": absent})
}

func markOnce(w *world) {
	w.condemned("x", "y")
	equal(w, "marked again", len(w.mark().Contents), 0)
	w.App.Pass(grace.Late - margin)
	equal(w, "marked before it is late", len(w.mark().Contents), 0)
}

func takenOver(w *world) {
	old := w.condemned("x")
	w.App.Pass(grace.Late)
	m := w.mark()
	equal(w, "taken over", m.Contents, old.Contents)
	w.confirm(old.Fence, adopt.Confirmed{Lost: 1}, gone("x")...)
	w.counts(map[string]int64{"x": 0})
	w.confirm(m.Fence, adopt.Confirmed{Gone: 1}, gone("x")...)
	w.counts(map[string]int64{"x": absent})
	// The silent worker's delete may yet take effect, on what was uploaded right before.
	w.App.Pass(grace.Late + grace.LongestWrite - margin)
	equal(w, "marks ended too early", must(w.Unmark(w.ctx, 9))(w), 0)
	w.refused("x")
	w.App.Pass(margin)
	equal(w, "marks ended", must(w.Unmark(w.ctx, 9))(w), 1)
	w.put("x", Never, "again")
}

func countsWaiting(w *world) {
	equal(w, "waiting", must(w.Waiting(w.ctx))(w), adopt.Backlog{})
	for _, c := range []string{"x", "y"} {
		w.put(c, -time.Second, "of "+c)
	}
	w.expire()
	equal(w, "due before the grace", must(w.Waiting(w.ctx))(w).Due, 0)
	w.App.Pass(grace.Unreferenced)
	b := must(w.Waiting(w.ctx))(w)
	equal(w, "due", b.Due, 2)
	if b.Oldest == 0 {
		w.Error("the oldest is not told")
	}
	m := w.mark()
	equal(w, "due while they are marked", must(w.Waiting(w.ctx))(w).Due, 0)
	w.confirm(m.Fence, adopt.Confirmed{Gone: 2}, gone("x", "y")...)
	w.App.Pass(grace.LongestWrite)
	equal(w, "due at the end", must(w.Waiting(w.ctx))(w).Due, 0)
}
