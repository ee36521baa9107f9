package adopttest

import (
	"errors"
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

func confirmTests() []test {
	return []test{
		{name: "removes contents whose objects are gone", run: confirmGone},
		{name: "marks end after the longest write", run: unmark},
		{name: "marks end up to the limit", run: unmarkLimit},
		{name: "a mark that is over refuses nothing", run: markOver},
		{name: "a mark that is over does not keep contents from ending", run: endsPastMark},
		{name: "what failed is tried again", run: confirmFailed},
		{name: "what failed for certain may be referred to again", run: confirmNothing},
		{name: "what its application forgot while it was condemned is tried again", run: confirmForgotten},
		{name: "what may have been deleted stays condemned, whatever fails then", run: confirmPerhaps},
		{name: "what was taken over stays condemned, whatever fails then", run: confirmSilent},
		{name: "an end that was not seen extends the mark", run: confirmUnseen},
		{name: "so does one before a delete that succeeded", run: confirmLate},
		{name: "confirms once", run: confirmOnce},
		{name: "a content that is referenced past the guard stays", run: confirmBroken},
		{name: "a condemned content that is referenced past the guard is let go", run: markBroken},
	}
}

func confirmGone(w *world) {
	m := w.condemned("x", "y")
	w.confirm(m.Fence, adopt.Confirmed{Gone: 2}, gone("x", "y")...)
	w.counts(map[string]int64{"x": absent, "y": absent})
}

func unmark(w *world) {
	m := w.condemned("x")
	w.confirm(m.Fence, adopt.Confirmed{Gone: 1}, gone("x")...)
	w.App.Pass(grace.LongestWrite - margin)
	equal(w, "marks ended too early", must(w.Unmark(w.ctx, 9))(w), 0)
	w.refused("x")
	w.App.Pass(margin)
	equal(w, "marks ended", must(w.Unmark(w.ctx, 9))(w), 1)
	w.put("x", -time.Second, "again")
	w.counts(map[string]int64{"x": 1})
	w.expire()
	w.App.Pass(grace.Unreferenced)
	equal(w, "marked again", len(w.mark().Contents), 1)
}

// over confirms objects as gone, with marks that are over by every clock, and that
// nobody has removed.
func (w *world) over(m adopt.Marked) {
	w.Helper()
	g := grace
	g.LongestWrite = -24 * time.Hour
	var keys []string
	for _, c := range m.Contents {
		keys = append(keys, c.Content)
	}
	must(w.Confirm(w.ctx, m.Fence, gone(keys...), g))(w)
}

func markOver(w *world) {
	w.over(w.condemned("x"))
	w.put("x", -time.Second, "again")
	w.counts(map[string]int64{"x": 1})
	w.expire()
	w.App.Pass(grace.Unreferenced)
	equal(w, "marked again", w.mark().Contents, []adopt.Condemned{{Content: "x", Object: ObjectOf("x")}})
	w.refused("x")
	equal(w, "marks ended", must(w.Unmark(w.ctx, 9))(w), 0)
}

func endsPastMark(w *world) {
	w.over(w.endsWith("x"))
	m := w.endsWith("x")
	w.refused("x")
	w.confirm(m.Fence, adopt.Confirmed{Gone: 1}, gone("x")...)
	w.counts(map[string]int64{"x": absent})
}

func unmarkLimit(w *world) {
	contents := names("content", 5)
	m := w.condemned(contents...)
	w.confirm(m.Fence, adopt.Confirmed{Gone: 5}, gone(contents...)...)
	w.App.Pass(grace.LongestWrite)
	equal(w, "marks ended", must(w.Unmark(w.ctx, 3))(w), 3)
	equal(w, "marks ended then", must(w.Unmark(w.ctx, 3))(w), 2)
}

func confirmFailed(w *world) {
	m := w.condemned("x", "y")
	w.confirm(m.Fence, adopt.Confirmed{Gone: 1, Failed: 1}, adopt.Outcome{Content: "x", Failed: "access denied"}, adopt.Outcome{Content: "y"})
	w.counts(map[string]int64{"x": 0, "y": absent})
	equal(w, "marked at once", len(w.mark().Contents), 0)
	w.App.Pass(time.Hour)
	m = w.mark()
	equal(w, "marked again", m.Contents, []adopt.Condemned{{Content: "x", Object: ObjectOf("x")}})
	w.confirm(m.Fence, adopt.Confirmed{Gone: 1}, gone("x")...)
	w.App.Pass(grace.LongestWrite)
	equal(w, "marks ended", must(w.Unmark(w.ctx, 9))(w), 2)
}

// The bucket said that nothing was deleted: the application need not be refused.
func confirmNothing(w *world) {
	m := w.condemned("x")
	w.confirm(m.Fence, adopt.Confirmed{Failed: 1}, adopt.Outcome{Content: "x", Failed: "access denied"})
	w.put("x", Never, "again")
	w.App.Pass(time.Hour)
	m = w.mark()
	equal(w, "marked", len(m.Contents), 0)
	equal(w, "kept", m.Kept, 1)
	w.counts(map[string]int64{"x": 1})
}

// Nobody but Lethe knows of the object now.
func confirmForgotten(w *world) {
	m := w.condemned("x", "y")
	w.must(w.App.Forget(w.ctx, "x"))
	w.confirm(m.Fence, adopt.Confirmed{Failed: 2}, adopt.Outcome{Content: "x", Failed: "access denied"}, adopt.Outcome{Content: "y", Failed: "access denied"})
	w.put("y", Never, "again")
	w.App.Pass(time.Hour)
	m = w.mark()
	equal(w, "marked", m.Contents, []adopt.Condemned{{Content: "x", Object: ObjectOf("x")}})
	w.confirm(m.Fence, adopt.Confirmed{Gone: 1}, gone("x")...)
	w.App.Pass(grace.LongestWrite)
	equal(w, "marks ended", must(w.Unmark(w.ctx, 9))(w), 1)
}

func confirmPerhaps(w *world) {
	m := w.condemned("x")
	w.confirm(m.Fence, adopt.Confirmed{Failed: 1}, adopt.Outcome{Content: "x", Failed: "no result", Unseen: true})
	w.App.Pass(2 * grace.Late)
	m = w.mark()
	w.confirm(m.Fence, adopt.Confirmed{Failed: 1}, adopt.Outcome{Content: "x", Failed: "access denied"})
	w.refused("x")
}

// What the silent worker did nobody knows.
func confirmSilent(w *world) {
	w.condemned("x")
	w.App.Pass(grace.Late)
	m := w.mark()
	w.confirm(m.Fence, adopt.Confirmed{Failed: 1}, adopt.Outcome{Content: "x", Failed: "access denied"})
	w.refused("x")
}

func confirmUnseen(w *world) {
	m := w.condemned("x")
	w.confirm(m.Fence, adopt.Confirmed{Failed: 1}, adopt.Outcome{Content: "x", Failed: "no result", Unseen: true})
	w.App.Pass(time.Minute)
	m = w.mark()
	equal(w, "marked again", len(m.Contents), 1)
	w.confirm(m.Fence, adopt.Confirmed{Gone: 1}, gone("x")...)
	// The first delete may yet take effect, until Late is over since it was not seen;
	// whoever uploaded right before that must not commit after it.
	w.App.Pass(grace.Late - time.Minute + grace.LongestWrite - margin)
	equal(w, "marks ended too early", must(w.Unmark(w.ctx, 9))(w), 0)
	w.refused("x")
	w.App.Pass(margin)
	equal(w, "marks ended", must(w.Unmark(w.ctx, 9))(w), 1)
	w.put("x", Never, "again")
}

func confirmLate(w *world) {
	m := w.condemned("x", "y")
	w.confirm(m.Fence, adopt.Confirmed{Gone: 2}, adopt.Outcome{Content: "x", Unseen: true}, gone("y")[0])
	w.App.Pass(grace.Late + grace.LongestWrite - margin)
	equal(w, "marks ended", must(w.Unmark(w.ctx, 9))(w), 1)
	w.refused("x")
	w.App.Pass(margin)
	equal(w, "marks ended", must(w.Unmark(w.ctx, 9))(w), 1)
	w.put("x", Never, "again")
}

func confirmOnce(w *world) {
	m := w.condemned("x")
	w.confirm(m.Fence+2, adopt.Confirmed{Lost: 1}, gone("x")...)
	w.counts(map[string]int64{"x": 0})
	w.confirm(m.Fence, adopt.Confirmed{Gone: 1, Lost: 1}, gone("x", "never marked")...)
	w.confirm(m.Fence, adopt.Confirmed{Lost: 1}, gone("x")...)
	w.confirm(m.Fence, adopt.Confirmed{Lost: 1}, adopt.Outcome{Content: "x", Failed: "late", Unseen: true})
}

func confirmBroken(w *world) {
	m := w.condemned("x", "y", "z")
	w.must(w.App.Refer(w.ctx, Row{"past", "x", Never}))
	w.must(w.App.SetCount(w.ctx, "y", 1))
	w.confirm(m.Fence, adopt.Confirmed{Gone: 3, Broken: []string{"x", "y"}}, gone("x", "y", "z")...)
	w.counts(map[string]int64{"x": 0, "y": 1, "z": absent})
	w.states(map[string]State{"past": Live})
}

// Its object may be there still, or go any moment: no more references until that is
// over, and no more deletes.
func markBroken(w *world) {
	w.condemned("x")
	w.must(w.App.Refer(w.ctx, Row{"past", "x", Never}))
	w.App.Pass(grace.Late)
	m := w.mark()
	equal(w, "marked", len(m.Contents), 0)
	equal(w, "drifted", m.Drifted, []string{"x"})
	if err := w.App.Put(w.ctx, Row{"late", "x", Never}); !errors.Is(err, ErrRefused) {
		w.Errorf("a reference while a delete may yet take effect: %v", err)
	}
	w.App.Pass(grace.Late + grace.LongestWrite - margin)
	equal(w, "marks ended too early", must(w.Unmark(w.ctx, 9))(w), 0)
	w.App.Pass(margin)
	equal(w, "marks ended", must(w.Unmark(w.ctx, 9))(w), 1)
	w.put("x", Never, "again")
	w.counts(map[string]int64{"x": 1})
}
