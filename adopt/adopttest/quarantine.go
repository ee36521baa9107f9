package adopttest

import (
	"strings"
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

func quarantineTests() []test {
	in := Variant{Quarantine: true}
	return []test{
		{name: "without a guard contents are marked and referred to", run: markedUnguarded, in: in},
		{name: "what came back while its worker took it for gone is looked for once more", run: looksOnceMore, in: in},
		{name: "so it is without counts", run: looksOnceMore, in: Variant{Quarantine: true, Uncounted: true}},
		{name: "what is referred to by then is let be", run: looksAtReferences, in: in},
		{name: "what came back has its whole grace again", run: looksAfterGrace, in: in},
		{name: "what its application forgot is looked for once more", run: looksForForgotten, in: in},
		{name: "what came back because somebody wants it is not looked for", run: looksPastWanted, in: in},
		{name: "an object moves into quarantine", run: moves, in: in},
		{name: "an object that is referred to does not move", run: movesUnreferenced, in: in},
		{name: "a copy is recorded by who began it", run: movesOnce, in: in},
		{name: "what a silent worker began is begun anew", run: movesAnew, in: in},
		{name: "an object that has not changed is only removed again", run: movesAgain, in: in},
		{name: "other bytes move once no delete can take them", run: movesChanged, in: in},
		{name: "an object that is referred to again is restored", run: restores, in: in},
		{name: "an object that is wanted is restored", run: restoresWanted, in: in},
		{name: "what is being restored does not move", run: restoresAlone, in: in},
		{name: "a copy is purged after the retention", run: purges, in: in},
		{name: "what a silent worker began is not taken for complete", run: purgesSilent, in: in},
		{name: "what is referred to is not purged", run: purgesUnreferenced, in: in},
		{name: "what may be referred to without an upload is not purged", run: purgesUnknown, in: in},
		{name: "a copy that is not needed is purged", run: purgesSpare, in: in},
		{name: "without counts a row restores", run: restores, in: Variant{Quarantine: true, Uncounted: true}},
		{name: "copies without a record are recorded if something refers to them", run: recalls, in: in},
		{name: "objects on record come in pages", run: heldPages, in: in},
		{name: "an upload is recorded by who has the object", run: uploadsOnce, in: in},
		{name: "uploads of silent workers are told", run: uploadsSilent, in: in},
		{name: "uploads of what has ended are told", run: uploadsEnded, in: in},
		{name: "uploads come in pages", run: uploadPages, in: in},
	}
}

// terms are those of the quarantine, window that in which a worker has an object.
var (
	terms  = adopt.Terms{Retention: 24 * time.Hour, Late: 20 * time.Minute}
	window = 20 * time.Minute
)

func sighted(tag string, contents ...string) (out []adopt.FoundObject) {
	for _, c := range contents {
		out = append(out, adopt.FoundObject{Key: ObjectOf(c), Copy: "kept/" + ObjectOf(c), Size: 7, Tag: tag, Absent: tag == ""})
	}
	return out
}

func objectsOf(contents ...string) (out []string) {
	for _, c := range contents {
		out = append(out, ObjectOf(c))
	}
	return out
}

// begun begins to move objects, as it has to.
func (w *world) begun(tag string, want adopt.Begun, contents ...string) int64 {
	w.Helper()
	got := must(w.Quarantine.Begin(w.ctx, sighted(tag, contents...), window))(w)
	want.Fence = got.Fence
	equal(w, "begun", got, want)
	return got.Fence
}

// copied records copies, as it has to.
func (w *world) copied(fence int64, keys, want []string) {
	w.Helper()
	equal(w, "moved", strings.Join(must(w.Quarantine.Moved(w.ctx, fence, keys, terms))(w), " "), strings.Join(want, " "))
}

// away moves the objects of contents into quarantine.
func (w *world) away(contents ...string) {
	w.Helper()
	keys := objectsOf(contents...)
	w.copied(w.begun("1", adopt.Begun{Copy: keys}, contents...), keys, keys)
}

// taken claims objects, as it has to.
func (w *world) taken(c adopt.ClaimRequest, want ...string) int64 {
	w.Helper()
	c.Late = window
	fence, keys, err := w.Quarantine.Claim(w.ctx, c)
	w.must(err)
	equal(w, "claimed", strings.Join(keys, " "), strings.Join(objectsOf(want...), " "))
	return fence
}

// ended records what became of objects; those of the fence are told.
func (w *world) ended(fence int64, keys []string, how adopt.QuarantineOutcome, want ...string) {
	w.Helper()
	got := must(w.Quarantine.End(w.ctx, fence, keys, how))(w)
	equal(w, "ended", strings.Join(got, " "), strings.Join(objectsOf(want...), " "))
}

// record returns what is on record of one content's object; State 0: nothing is.
func (w *world) record(content string) adopt.QuarantinedObject {
	w.Helper()
	for _, h := range must(w.Quarantine.Page(w.ctx, "", 100))(w).Objects {
		if h.Key == ObjectOf(content) {
			return h
		}
	}
	return adopt.QuarantinedObject{}
}

func markedUnguarded(w *world) {
	m := w.condemned("x", "y")
	w.put("x", Never, "again")
	w.confirm(m.Fence, adopt.Confirmed{Gone: 2, Broken: []string{"x"}}, gone("x", "y")...)
	w.counts(map[string]int64{"x": 1, "y": absent})
	w.condemned("z")
	w.put("z", Never, "in between")
	w.App.Pass(grace.Late)
	again := w.mark()
	equal(w, "kept", again.Kept, 1)
	equal(w, "drifted", len(again.Drifted), 0)
}

// ripe lets marks end, and returns what is marked then.
func (w *world) ripe() adopt.Marked {
	w.Helper()
	w.App.Pass(window)
	must(w.Unmark(w.ctx, 9))(w)
	return w.mark()
}

// lookedFor are contents without a row whose objects were moved.
func lookedFor(contents ...string) (out []adopt.Condemned) {
	for _, c := range contents {
		out = append(out, adopt.Condemned{Content: c, Object: ObjectOf(c), Again: true})
	}
	return out
}

// wasLookedFor are the outcomes of such.
func wasLookedFor(contents ...string) []adopt.Outcome {
	out := gone(contents...)
	for i := range out {
		out[i].Again = true
	}
	return out
}

// The worker has seen that the object is absent. Then it is referred to, copied back, and
// referred to no more.
func looksOnceMore(w *world) {
	m := w.condemned("x")
	w.away("x")
	w.put("x", -time.Second, "again")
	fence := w.taken(adopt.ClaimRequest{Keys: objectsOf("x"), For: adopt.Restoring}, "x")
	w.ended(fence, objectsOf("x"), adopt.Restored, "x")
	w.expire()
	w.confirm(m.Fence, adopt.Confirmed{Gone: 1}, gone("x")...)
	w.counts(map[string]int64{"x": absent})
	w.App.Pass(window - margin)
	equal(w, "looked for while a copy may yet come back", must(w.Unmark(w.ctx, 9))(w), 0)
	m = w.ripe()
	equal(w, "looked for", m.Contents, lookedFor("x"))
	w.confirm(m.Fence, adopt.Confirmed{}, wasLookedFor("x")...) // counted before
	equal(w, "looked for again", len(w.ripe().Contents), 0)
}

func looksAtReferences(w *world) {
	m := w.condemned("x", "y", "z")
	w.confirm(m.Fence, adopt.Confirmed{Gone: 3}, gone("x", "y", "z")...)
	w.put("x", Never, "again")
	w.App.Pass(window)
	equal(w, "over", must(w.Unmark(w.ctx, 9))(w), 3)
	w.put("y", Never, "once more")
	m = w.mark()
	equal(w, "looked for", m.Contents, lookedFor("z"))
	equal(w, "kept", m.Kept, 1)
	w.put("z", -time.Second, "between look and confirmation")
	w.expire()
	w.confirm(m.Fence, adopt.Confirmed{Gone: 1}, wasLookedFor("z")...)
	w.counts(map[string]int64{"x": 1, "y": 1, "z": absent})
	equal(w, "looked for, as it had a row", w.ripe().Contents, lookedFor("z"))
}

// The mark of its deletion was not over when its last reference went.
func looksAfterGrace(w *world) {
	m := w.condemned("x")
	w.confirm(m.Fence, adopt.Confirmed{Gone: 1}, gone("x")...)
	w.put("x", -time.Second, "for a while")
	w.expire()
	equal(w, "marked at once", len(w.ripe().Contents), 0)
	found, _, err := w.Find(w.ctx, "", 9, grace.Unreferenced)
	w.must(err)
	equal(w, "found", found, 1)
	w.App.Pass(grace.Unreferenced - margin)
	equal(w, "marked within its grace", len(w.mark().Contents), 0)
	w.App.Pass(margin)
	equal(w, "marked", w.mark().Contents, []adopt.Condemned{{Content: "x", Object: ObjectOf("x")}})
}

// Its application removes the row, which was there when the object was looked at.
func looksForForgotten(w *world) {
	m := w.condemned("x")
	w.must(w.App.Forget(w.ctx, "x"))
	w.confirm(m.Fence, adopt.Confirmed{Gone: 1}, gone("x")...)
	equal(w, "looked for", w.ripe().Contents, lookedFor("x"))
}

func looksPastWanted(w *world) {
	m := w.condemned("x", "y")
	w.away("x", "y")
	w.confirm(m.Fence, adopt.Confirmed{Gone: 2}, gone("x", "y")...)
	equal(w, "known", must(w.Quarantine.Want(w.ctx, ObjectOf("x")))(w), true)
	equal(w, "looked for", w.ripe().Contents, lookedFor("y"))
}

func moves(w *world) {
	w.away("x")
	h := w.record("x")
	equal(w, "size and copy", h.Copy, "kept/"+ObjectOf("x"))
	equal(w, "state", h.State, adopt.Quarantined)
	equal(w, "retention", h.Until.Sub(h.Since), terms.Retention)
	equal(w, "late", h.Late.Sub(h.Since), terms.Late)
	equal(w, "named", h.Named, false)
	w.begun("", adopt.Begun{Gone: objectsOf("x", "never there")}, "x", "never there")
	equal(w, "in quarantine", must(w.Quarantine.InQuarantine(w.ctx))(w).Due, 1)
}

func movesUnreferenced(w *world) {
	fence := w.begun("1", adopt.Begun{Copy: objectsOf("x", "y", "z")}, "x", "y", "z")
	w.put("x", Never, "row")
	w.must(w.App.Refer(w.ctx, Row{"past", "y", Never}))
	w.must(w.App.SetCount(w.ctx, "y", 0))
	w.copied(fence, objectsOf("x", "y", "z"), objectsOf("z"))
	equal(w, "state", w.record("x").State, adopt.Moving)
	w.App.Pass(window)
	w.taken(adopt.ClaimRequest{Keys: objectsOf("x"), For: adopt.Restoring})
}

func movesOnce(w *world) {
	fence := w.begun("1", adopt.Begun{Copy: objectsOf("x")}, "x")
	w.begun("1", adopt.Begun{}, "x")
	w.copied(fence+2, objectsOf("x"), nil)
	w.copied(fence, objectsOf("x", "never begun"), objectsOf("x"))
}

func movesAnew(w *world) {
	silent := w.begun("1", adopt.Begun{Copy: objectsOf("x")}, "x")
	w.App.Pass(window)
	fence := w.begun("1", adopt.Begun{Copy: objectsOf("x")}, "x")
	w.copied(silent, objectsOf("x"), nil)
	w.copied(fence, objectsOf("x"), objectsOf("x"))
}

func movesAgain(w *world) {
	w.away("x")
	w.App.Pass(margin)
	fence := w.begun("1", adopt.Begun{Remove: objectsOf("x")}, "x")
	w.taken(adopt.ClaimRequest{Keys: objectsOf("x"), For: adopt.Purging, Early: true})
	w.copied(fence, objectsOf("x"), objectsOf("x"))
	h := w.record("x")
	equal(w, "late", h.Late.Sub(h.Since), terms.Late)
}

func movesChanged(w *world) {
	w.away("x")
	w.App.Pass(terms.Late - margin)
	w.begun("2", adopt.Begun{}, "x")
	w.App.Pass(margin)
	fence := w.begun("2", adopt.Begun{Copy: objectsOf("x")}, "x")
	equal(w, "state", w.record("x").State, adopt.Moving)
	w.copied(fence, objectsOf("x"), objectsOf("x"))
}

func restores(w *world) {
	w.away("x", "y", "z")
	w.put("x", Never, "again")
	equal(w, "named", w.record("x").Named, true)
	fence := w.taken(adopt.ClaimRequest{Keys: objectsOf("x", "y"), For: adopt.Restoring}, "x")
	w.taken(adopt.ClaimRequest{Keys: objectsOf("x"), For: adopt.Restoring})
	w.ended(fence+2, objectsOf("x"), adopt.Restored)
	equal(w, "state", w.record("x").State, adopt.Restoring)
	w.ended(fence, objectsOf("x"), adopt.Restored, "x")
	equal(w, "state", w.record("x").State, adopt.Quarantined)
	w.App.Pass(window)
	w.taken(adopt.ClaimRequest{Keys: objectsOf("x"), For: adopt.Restoring}, "x")
	w.App.Pass(window)
	w.taken(adopt.ClaimRequest{Keys: objectsOf("x"), For: adopt.Restoring}, "x")
}

func restoresWanted(w *world) {
	w.away("x")
	equal(w, "known", must(w.Quarantine.Want(w.ctx, ObjectOf("y")))(w), false)
	equal(w, "known", must(w.Quarantine.Want(w.ctx, ObjectOf("x")))(w), true)
	w.App.Pass(2 * terms.Retention)
	w.taken(adopt.ClaimRequest{Keys: objectsOf("x"), For: adopt.Purging})
	w.taken(adopt.ClaimRequest{Keys: objectsOf("x"), For: adopt.Restoring}, "x")
}

// recalls: the database was restored from a backup, and the record of moves is lost.
func recalls(w *world) {
	w.put("x", Never, "row")
	found := func(anyway bool, contents ...string) int {
		w.Helper()
		return must(w.Quarantine.Found(w.ctx, sighted("1", contents...), terms, anyway))(w)
	}
	equal(w, "found", found(false, "x", "y"), 1)
	equal(w, "found again", found(false, "x", "y"), 0)
	equal(w, "state", w.record("x").State, adopt.Quarantined)
	equal(w, "state", w.record("y").State, 0)
	equal(w, "found anyway", found(true, "x", "y"), 1)
	w.ended(w.taken(adopt.ClaimRequest{Keys: objectsOf("x", "y"), For: adopt.Restoring}, "x"), objectsOf("x"), adopt.Restored, "x")
	w.App.Pass(terms.Retention - margin)
	w.taken(adopt.ClaimRequest{Keys: objectsOf("x", "y"), For: adopt.Purging})
	w.App.Pass(margin)
	w.taken(adopt.ClaimRequest{Keys: objectsOf("x", "y"), For: adopt.Purging}, "y")
}

func restoresAlone(w *world) {
	w.away("x")
	w.put("x", -time.Second, "again")
	w.taken(adopt.ClaimRequest{Keys: objectsOf("x"), For: adopt.Restoring}, "x")
	w.expire()
	w.begun("", adopt.Begun{}, "x")
	w.App.Pass(window)
	w.begun("", adopt.Begun{Gone: objectsOf("x")}, "x")
}

func purges(w *world) {
	w.away("x", "y")
	w.App.Pass(terms.Retention - margin)
	w.taken(adopt.ClaimRequest{Keys: objectsOf("x"), For: adopt.Purging})
	fence := w.taken(adopt.ClaimRequest{Keys: objectsOf("y"), For: adopt.Purging, Early: true}, "y")
	w.App.Pass(margin)
	w.taken(adopt.ClaimRequest{Keys: objectsOf("x"), For: adopt.Purging}, "x")
	w.ended(fence, objectsOf("x", "y"), adopt.Purged, "y")
	equal(w, "state", w.record("x").State, adopt.Purging)
	equal(w, "state", w.record("y").State, 0)
	w.App.Pass(window)
	fence = w.taken(adopt.ClaimRequest{Keys: objectsOf("x"), For: adopt.Purging}, "x")
	w.ended(fence, objectsOf("x"), adopt.Left, "x")
	equal(w, "state", w.record("x").State, adopt.Purging)
	w.taken(adopt.ClaimRequest{Keys: objectsOf("x"), For: adopt.Purging}, "x")
}

// A copy that was never complete is not taken for one.
func purgesSilent(w *world) {
	w.begun("1", adopt.Begun{Copy: objectsOf("x")}, "x")
	w.App.Pass(window)
	fence := w.taken(adopt.ClaimRequest{Keys: objectsOf("x"), For: adopt.Purging, Spare: true}, "x")
	w.ended(fence, objectsOf("x"), adopt.Left, "x")
	w.begun("1", adopt.Begun{Copy: objectsOf("x")}, "x")
}

func purgesUnreferenced(w *world) {
	w.away("x", "y")
	w.put("x", Never, "again")
	w.App.Pass(terms.Retention)
	w.taken(adopt.ClaimRequest{Keys: objectsOf("x", "y"), For: adopt.Purging, Early: true}, "y")
}

func purgesUnknown(w *world) {
	w.must(w.App.SetCount(w.ctx, "x", 0))
	w.away("x")
	equal(w, "named", w.record("x").Named, false)
	equal(w, "known", w.record("x").Known, true)
	w.App.Pass(terms.Retention)
	w.taken(adopt.ClaimRequest{Keys: objectsOf("x"), For: adopt.Purging, Early: true})
	w.taken(adopt.ClaimRequest{Keys: objectsOf("x"), For: adopt.Restoring})
}

func purgesSpare(w *world) {
	w.away("x")
	w.put("x", Never, "again")
	w.begun("1", adopt.Begun{Copy: objectsOf("y")}, "y")
	w.App.Pass(terms.Late - margin)
	w.taken(adopt.ClaimRequest{Keys: objectsOf("x", "y"), For: adopt.Purging, Spare: true})
	w.App.Pass(margin)
	w.taken(adopt.ClaimRequest{Keys: objectsOf("y"), For: adopt.Purging, Early: true})
	w.taken(adopt.ClaimRequest{Keys: objectsOf("x", "y"), For: adopt.Purging, Spare: true}, "x", "y")
}

func heldPages(w *world) {
	contents := names("content", 5)
	w.away(contents...)
	var keys []string
	for after := ""; ; {
		page := must(w.Quarantine.Page(w.ctx, after, 2))(w)
		if len(page.Objects) == 0 {
			break
		}
		for _, h := range page.Objects {
			keys = append(keys, h.Key)
		}
		after = keys[len(keys)-1]
	}
	equal(w, "keys", keys, objectsOf(contents...))
}
