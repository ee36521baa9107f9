package adopttest

import (
	"errors"
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

func holdTests() []test {
	return []test{
		{name: "a hold on a row keeps it from claims", run: heldFromClaims},
		{name: "a hold on a row that is claimed gives it back", run: heldFromSettle},
		{name: "a hold on the collection stops everything", run: heldAll},
		{name: "a hold on an object keeps its content", run: heldObject},
		{name: "a hold on a prefix keeps what lies below it", run: heldPrefix},
		{name: "a hold keeps a delete from being tried again", run: heldAgain},
		{name: "a hold tells which deletes are under way", run: heldUnderWay},
		{name: "a hold tells of a delete that outlives the one that was seen", run: heldUnseen},
		{name: "a hold ends by itself", run: heldUntil},
		{name: "a hold is set once, and released once", run: heldOnce},
		{name: "a hold keeps an object from quarantine, and its copy", run: heldFromQuarantine, in: Variant{Quarantine: true}},
	}
}

// hold sets a hold.
func (w *world) hold(scope adopt.HoldScope, key string) (under adopt.UnderWay) {
	w.Helper()
	h, under, err := w.AddHold(w.ctx, adopt.Hold{Scope: scope, Key: key, Reason: "audit", By: "me"})
	w.must(err)
	if h.Scope != scope || h.Key != key || h.Reason != "audit" || h.By != "me" || h.At == 0 {
		w.Errorf("the hold is %+v", h)
	}
	return under
}

func (w *world) release(scope adopt.HoldScope, key string) {
	w.Helper()
	w.must(w.ReleaseHold(w.ctx, adopt.Hold{Scope: scope, Key: key}))
}

func heldFromClaims(w *world) {
	w.put("x", -3*time.Second, "held")
	w.put("x", -2*time.Second, "free")
	w.hold(adopt.HoldRow, "held")
	w.hold(adopt.HoldRow, "neither here nor there")
	w.hold(adopt.HoldObject, "free")
	_, keys := w.claim(1)
	equal(w, "claimed", keys, []string{"free"})
	_, keys = w.claim(9)
	equal(w, "claimed then", keys, []string{})
	w.release(adopt.HoldRow, "held")
	_, keys = w.claim(9)
	equal(w, "claimed once it is released", keys, []string{"held"})
}

func heldFromSettle(w *world) {
	w.put("x", -time.Second, "held", "free")
	c, _ := w.claim(9)
	w.hold(adopt.HoldRow, "held")
	w.settle(c, adopt.Settled{Gone: 1, Held: 1})
	w.states(map[string]State{"held": Live, "free": Absent})
	w.counts(map[string]int64{"x": 1})
	w.release(adopt.HoldRow, "held")
	equal(w, "gone once it is released", w.expire(), adopt.Settled{Gone: 1, Unreferenced: 1})
}

func heldAll(w *world) {
	w.put("x", -time.Second, "a")
	w.expire()
	w.put("y", -time.Second, "b", "c")
	c, _ := w.claim(1)
	w.hold(adopt.HoldCollection, "")
	w.settle(c, adopt.Settled{Held: 1})
	_, keys := w.claim(9)
	equal(w, "claimed", keys, []string{})
	w.App.Pass(grace.Unreferenced)
	equal(w, "marked", w.mark(), adopt.Marked{})
	w.states(map[string]State{"b": Live, "c": Live})
	w.release(adopt.HoldCollection, "")
	_, keys = w.claim(9)
	equal(w, "claimed once it is released", keys, []string{"b", "c"})
	equal(w, "marked once it is released", len(w.mark().Contents), 1)
}

func heldObject(w *world) {
	w.put("x", -time.Second, "a")
	w.put("xx", -time.Second, "b")
	w.hold(adopt.HoldObject, ObjectOf("x"))
	equal(w, "gone", w.expire().Gone, 2)
	w.App.Pass(grace.Unreferenced)
	m := w.mark()
	equal(w, "marked", m.Contents, []adopt.Condemned{{Content: "xx", Object: ObjectOf("xx")}})
	equal(w, "held", m.Held, 1)
	w.counts(map[string]int64{"x": 0})
	w.put("x", -time.Second, "again") // nothing keeps it away
	w.expire()
	w.App.Pass(grace.Unreferenced + adopt.HeldRest)
	equal(w, "marked later", len(w.mark().Contents), 1) // what was marked before is taken over
	w.release(adopt.HoldObject, ObjectOf("x"))
	w.App.Pass(adopt.HeldRest)
	equal(w, "marked once it is released", len(w.mark().Contents), 2)
}

func heldPrefix(w *world) {
	w.put("2030-1", -time.Second, "a")
	w.put("2030-2", -time.Second, "b")
	w.put("2031-1", -time.Second, "c")
	w.hold(adopt.HoldPrefix, ObjectOf("2030"))
	w.expire()
	w.App.Pass(grace.Unreferenced)
	m := w.mark()
	equal(w, "marked", m.Contents, []adopt.Condemned{{Content: "2031-1", Object: ObjectOf("2031-1")}})
	equal(w, "held", m.Held, 2)
}

func heldAgain(w *world) {
	m := w.condemned("x")
	w.confirm(m.Fence, adopt.Confirmed{Failed: 1}, adopt.Outcome{Content: "x", Failed: "no result", Unseen: true})
	w.hold(adopt.HoldObject, ObjectOf("x"))
	w.App.Pass(grace.Late)
	m = w.mark()
	equal(w, "marked", len(m.Contents), 0)
	equal(w, "held", m.Held, 1)
	w.refused("x") // its object may be gone
	w.release(adopt.HoldObject, ObjectOf("x"))
	w.App.Pass(adopt.HeldRest)
	equal(w, "marked once it is released", len(w.mark().Contents), 1)
}

func heldUnderWay(w *world) {
	m := w.condemned("x", "y", "z")
	w.confirm(m.Fence, adopt.Confirmed{Gone: 1, Failed: 1}, adopt.Outcome{Content: "x"}, adopt.Outcome{Content: "y", Failed: "access denied"})
	for _, c := range []struct {
		scope adopt.HoldScope
		key   string
		want  int
	}{
		{adopt.HoldObject, ObjectOf("x"), 0}, {adopt.HoldObject, ObjectOf("y"), 0}, {adopt.HoldObject, ObjectOf("z"), 1},
		{adopt.HoldPrefix, ObjectOf(""), 1}, {adopt.HoldCollection, "", 1}, {adopt.HoldRow, "of z", 0},
	} {
		under := w.hold(c.scope, c.key)
		if under.Objects != c.want || (under.Until != 0) != (c.want > 0) {
			w.Errorf("under way are %+v of %q, want %d", under, c.key, c.want)
		}
	}
	w.App.Pass(grace.Late)
	equal(w, "under way while a delete that was sent late may land", w.hold(adopt.HoldCollection, "").Objects, 1)
	w.App.Pass(grace.Landed() - grace.Late)
	equal(w, "under way at last", w.hold(adopt.HoldCollection, ""), adopt.UnderWay{})
}

// Who uploads the object again while it is held may lose it to the delete whose end
// nobody saw.
func heldUnseen(w *world) {
	m := w.condemned("x")
	w.confirm(m.Fence, adopt.Confirmed{Failed: 1}, adopt.Outcome{Content: "x", Failed: "it broke", Unseen: true})
	w.App.Pass(time.Minute)
	m = w.mark()
	w.confirm(m.Fence, adopt.Confirmed{Gone: 1}, gone("x")...)
	if under := w.hold(adopt.HoldObject, ObjectOf("x")); under.Objects != 1 || under.Until == 0 {
		w.Errorf("under way are %+v, want the delete whose end was not seen", under)
	}
	w.release(adopt.HoldObject, ObjectOf("x"))
	w.App.Pass(grace.Late)
	equal(w, "under way once it has landed", w.hold(adopt.HoldObject, ObjectOf("x")), adopt.UnderWay{})
}

func heldUntil(w *world) {
	w.put("x", -time.Second, "a")
	h, _, err := w.AddHold(w.ctx, adopt.Hold{Scope: adopt.HoldRow, Key: "a"})
	w.must(err)
	w.release(adopt.HoldRow, "a")
	h.Until = h.At.Add(time.Hour)
	w.must(second(second2(w.AddHold(w.ctx, h))))
	_, keys := w.claim(9)
	equal(w, "claimed", keys, []string{})
	equal(w, "holds", len(must(w.Holds(w.ctx))(w)), 1)
	w.App.Pass(time.Hour)
	equal(w, "holds then", len(must(w.Holds(w.ctx))(w)), 0)
	_, keys = w.claim(9)
	equal(w, "claimed then", keys, []string{"a"})
	if _, _, err := w.AddHold(w.ctx, h); err == nil {
		w.Error("a hold that is over was set")
	}
}

func second2[A, B any](_ A, v B, err error) (B, error) { return v, err }

func heldOnce(w *world) {
	first, _, err := w.AddHold(w.ctx, adopt.Hold{Scope: adopt.HoldRow, Key: "a", Reason: "first"})
	w.must(err)
	w.App.Pass(time.Minute)
	again, _, err := w.AddHold(w.ctx, adopt.Hold{Scope: adopt.HoldRow, Key: "a", Reason: "second"})
	w.must(err)
	equal(w, "set again", again, first)
	equal(w, "holds", must(w.Holds(w.ctx))(w), adopt.Holds{first})
	w.release(adopt.HoldRow, "a")
	if err := w.ReleaseHold(w.ctx, first); !errors.Is(err, adopt.ErrNoSuchHold) {
		w.Errorf("released again: %v", err)
	}
}

// An object that is held is not moved away, and its copy not purged.
func heldFromQuarantine(w *world) {
	keys := objectsOf("x")
	fence := w.begun("1", adopt.Begun{Copy: keys}, "x")
	w.hold(adopt.HoldObject, ObjectOf("x"))
	w.copied(fence, keys, nil)
	w.release(adopt.HoldObject, ObjectOf("x"))
	w.copied(fence, keys, keys)
	if under := w.hold(adopt.HoldPrefix, ObjectOf("")); under.Objects != 1 {
		w.Errorf("under way are %+v, want the delete of what was moved", under)
	}
	w.App.Pass(terms.Retention)
	w.taken(adopt.ClaimRequest{Keys: keys, For: adopt.Purging})
	w.release(adopt.HoldPrefix, ObjectOf(""))
	w.taken(adopt.ClaimRequest{Keys: keys, For: adopt.Purging}, "x")
	equal(w, "under way of the purge", w.hold(adopt.HoldObject, ObjectOf("x")).Objects, 1)
}
