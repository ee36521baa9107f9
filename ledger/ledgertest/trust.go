package ledgertest

import (
	"errors"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// window is the trust window of these tests.
const window = 2 * time.Hour

func trustTests() []test {
	in := func(o *ledger.Options) { o.TrustWindow = window }
	never := func(o *ledger.Options) { o.TrustWindow = -1 }
	two := func(o *ledger.Options) { o.TrustWindow, o.Replicas = window, 2 }
	three := func(o *ledger.Options) { o.TrustWindow, o.Replicas = window, 3 }
	return []test{
		{name: "within the window nothing is sent twice", run: trustedWithin, options: in},
		{name: "what was not verified lately is replaced", run: replacedAfter, options: in},
		{name: "what was replaced does not count as reclaimed again", run: replacedWeighsNothing, options: never},
		{name: "reading renews the trust", run: readAgain, options: in},
		{name: "nothing is trusted without reading", run: trustedNever, options: never},
		{name: "copies are joined where more are wanted", run: joinedForTrust, options: two},
		{name: "one trusted copy of three is enough", run: oneOfThree, options: three},
		{name: "parts replace an older copy", run: partsReplace, options: in},
		{name: "old parts replace nothing", run: oldPartsJoin, options: in},
		{name: "each segment is trusted by itself", run: segmentsTrusted, options: in},
		{name: "a backend in doubt is not trusted", run: doubtedBackend, options: in},
		{name: "parts on a backend in doubt are read first", run: doubtedParts, options: in},
		{name: "a hold by a person doubts nothing", run: heldByPerson, options: in},
		{name: "the reaper replaces an older copy", run: promotedOver, options: in},
		{name: "trim beside a copy that was read long ago", run: trimAfterWindow, options: two},
		{name: "trim beside what was just read, though nothing is trusted", run: trimNever, options: func(o *ledger.Options) { o.TrustWindow, o.Replicas = -1, 2 }},
	}
}

// refers returns commits of a body's content without bytes: as a put and as a copy.
func (w *world) refers(a ledger.Object, body string) []ledger.Commit {
	return []ledger.Commit{w.reference("r", body), w.from(a, "r")}
}

// untrusted checks that nothing refers to the object's content without its bytes.
func (w *world) untrusted(a ledger.Object, body string) {
	w.Helper()
	for _, c := range w.refers(a, body) {
		w.unchanged(func() { w.fails(refused(w.Commit(w.ctx, c)), lethe.ErrContentGone) })
	}
}

func (w *world) verify(blobs ...lethe.ID) {
	w.Helper()
	equal(w, "verified", must(w.MarkSound(w.ctx, blobs, 0))(w), len(blobs))
}

// replaced checks that one blob has replaced another.
func (w *world) replaced(old, by lethe.ID) {
	w.Helper()
	w.condemned(old, lethe.ReasonUnverified, w.now().Add(readGrace))
	w.in(by, lethe.Live)
	w.sound()
}

func trustedWithin(w *world) {
	a := w.put("a", "body")
	w.later(window - time.Microsecond)
	for _, c := range w.refers(a, "body") {
		w.commit(c)
	}
	equal(w, "duplicate", w.commit(w.written("b", "body")).Duplicate, true)
	w.later(time.Microsecond)
	w.untrusted(a, "body")
}

// replacedAfter: the bytes just sent are live, the unverified older copies go, and all
// objects of the content are served from the new copy.
func replacedAfter(w *world) {
	a := w.put("a", "body")
	old := w.onlyBlob("a").ID
	w.later(window)
	c := w.written("b", "body")
	done := w.commit(c)
	if done.Duplicate || done.Object.ContentID != a.ContentID {
		w.Fatalf("answer is %+v", done)
	}
	w.replaced(old, c.Blobs[0].Blob)
	equal(w, "blob of the older object", w.onlyBlob("a").ID, c.Blobs[0].Blob)
	equal(w, "to be placed", len(w.placements().Items), 0)
	w.commit(w.reference("c", "body"))
	w.totals(0, 1, 1, 0)
}

// replacedWeighsNothing: a batch is bounded by the blobs that it condemns, not by blobs
// condemned earlier by a replacement.
func replacedWeighsNothing(w *world) {
	for _, key := range []string{"a", "b"} {
		w.putTTL(key, "body", time.Minute)
	}
	w.putTTL("c", "other", time.Minute)
	w.later(time.Minute)
	if r := must(w.Expire(w.ctx, ledger.Batch{MaxBlobs: 2}))(w); r.Objects != 3 || r.Blobs != 2 || r.More {
		w.Fatalf("expired %+v", r)
	}
}

func readAgain(w *world) {
	a := w.put("a", "body")
	w.later(window)
	err := refused(w.Commit(w.ctx, w.from(a, "r")))
	w.fails(err, lethe.ErrUnverified)
	w.verify(w.onlyBlob("a").ID)
	for _, c := range w.refers(a, "body") {
		w.commit(c)
	}
	equal(w, "duplicate", w.commit(w.written("b", "body")).Duplicate, true)
	must(w.MarkSuspect(w.ctx, []lethe.ID{w.onlyBlob("a").ID}, "missing"))(w)
	if err := refused(w.Commit(w.ctx, w.from(a, "s"))); !errors.Is(err, lethe.ErrContentGone) || errors.Is(err, lethe.ErrUnverified) {
		w.Fatalf("error is %v", err)
	}
}

func trustedNever(w *world) {
	a := w.put("a", "body")
	w.untrusted(a, "body")
	w.verify(w.onlyBlob("a").ID)
	w.untrusted(a, "body")
	if err := refused(w.Commit(w.ctx, w.from(a, "r"))); errors.Is(err, lethe.ErrUnverified) {
		w.Fatalf("reading helps: %v", err)
	}
	for range 3 {
		old := w.onlyBlob("a").ID
		c := w.written("b", "body")
		equal(w, "duplicate", w.commit(c).Duplicate, false)
		w.replaced(old, c.Blobs[0].Blob)
	}
}

// joinedForTrust: while more copies are wanted the new one is added. After that it replaces
// the one on its own backend, else the one verified the longest ago.
func joinedForTrust(w *world) {
	w.put("a", "body")
	first := w.onlyBlob("a").ID
	w.later(window)
	c := w.written("b", "body")
	equal(w, "duplicate", w.commit(c).Duplicate, false)
	second := c.Blobs[0].Blob
	w.in(first, lethe.Live)
	w.tapes()
	w.later(window)
	w.verify(first)
	w.later(window)
	must(w.MarkSuspect(w.ctx, []lethe.ID{first}, "missing"))(w)
	c = w.written("c", "body")
	w.commit(c)
	third := c.Blobs[0].Blob
	w.in(first, lethe.Live)
	w.in(second, lethe.Live)
	w.later(window)
	must(w.MarkSound(w.ctx, []lethe.ID{first}, 0))(w)
	w.later(window)
	id := must(w.Begin(w.ctx, ledger.Intent{ID: w.id(), Backend: tape, Size: 4}))(w).ID
	c = w.reference("d", "body")
	c.Blobs = []ledger.Uploaded{{Blob: id, Size: 4, Digest: sum("body")}}
	w.commit(c)
	w.replaced(second, id)
	w.replaced(third, id)
	w.in(first, lethe.Live)
	w.later(window)
	c = w.written("e", "body")
	w.commit(c)
	w.replaced(first, c.Blobs[0].Blob)
	w.in(id, lethe.Live)
	equal(w, "to be placed", len(w.placements().Items), 1)
}

// oneOfThree: one copy read recently is enough to reference the content without bytes, to
// drop a duplicate and to trim the others, and no trim removes it. Without one, a new copy
// replaces the one verified the longest ago, and is then the trusted one.
func oneOfThree(w *world) {
	const vault = "vault"
	a, b, fence := w.twice("a", "body")
	must(w.AddBackend(w.ctx, ledger.Backend{ID: vault}))(w)
	c := must(w.BeginCopy(w.ctx, ledger.CopyIntent{ID: w.id(), Backend: vault, Source: a.ID, Fence: fence, Lease: lease}))(w)
	w.ok(w.commitCopy(c, a.ID, fence))
	o := w.get("a").Object
	w.later(window)
	w.untrusted(o, "body")
	w.verify(b.ID)
	for _, r := range w.refers(o, "body") {
		w.commit(r)
	}
	equal(w, "duplicate", w.commit(w.written("b", "body")).Duplicate, true)
	trim := ledger.Trim{Content: a.ContentID, Blobs: []lethe.ID{b.ID}, Reason: lethe.ReasonSurplus, Fence: fence, Lease: lease}
	w.unchanged(func() { w.fails(refused(w.TrimCopies(w.ctx, trim)), lethe.ErrPreconditionFailed) })
	must(w.MarkSuspect(w.ctx, []lethe.ID{b.ID}, "missing"))(w)
	w.untrusted(o, "body")
	w.verify(b.ID)

	w.later(window - time.Minute)
	w.verify(a.ID)
	w.later(time.Minute)
	w.commit(w.reference("c", "body"))
	w.later(window - time.Minute)
	w.untrusted(o, "body")
	d := w.written("d", "body") // on the backend of a
	equal(w, "duplicate", w.commit(d).Duplicate, false)
	w.replaced(a.ID, d.Blobs[0].Blob)
	w.in(b.ID, lethe.Live)
	w.in(c.ID, lethe.Live)
	w.commit(w.reference("e", "body"))

	p := must(w.Placed(w.ctx, []ledger.Subject{{ID: a.ContentID}}))(w)
	equal(w, "copies", len(p[0].Blobs), 3)
	must(w.QueuePlacements(w.ctx, []ledger.Subject{{ID: a.ContentID}}))(w)
	trim.Fence = w.placements().Fence
	trim.Blobs = []lethe.ID{b.ID, c.ID}
	w.unchanged(func() { w.fails(refused(w.TrimCopies(w.ctx, trim)), lethe.ErrPreconditionFailed) })
	w.verify(d.Blobs[0].Blob)
	equal(w, "trimmed", must(w.TrimCopies(w.ctx, trim))(w), 2)
	equal(w, "left", w.onlyBlob("a").ID, d.Blobs[0].Blob)
	w.sound()
}

func partsReplace(w *world) {
	w.completeOnto("k")
	s := w.get("k").Segments
	w.later(window)
	u := w.open("l")
	a, b := w.part(u, 1, "one k"), w.part(u, 2, "two k")
	equal(w, "duplicate", w.finish(u, "whole", a, b).Duplicate, false)
	w.replaced(s[0].Blobs[0].ID, a.BlobID)
	w.replaced(s[1].Blobs[0].ID, b.BlobID)
	equal(w, "segments", len(w.get("k").Segments), 2)
}

// oldPartsJoin: parts stored before the window are no better than the existing copy. Both
// stay until one is read.
func oldPartsJoin(w *world) {
	w.completeOnto("k")
	s := w.get("k").Segments
	u := w.open("l")
	a := w.part(u, 1, "one k")
	w.later(window)
	b := w.part(u, 2, "two k")
	w.finish(u, "whole", a, b)
	w.in(s[0].Blobs[0].ID, lethe.Live)
	w.in(a.BlobID, lethe.Live)
	w.replaced(s[1].Blobs[0].ID, b.BlobID)
	p, fence := w.misplaced()
	trim := ledger.Trim{Content: p.ID, Blobs: []lethe.ID{s[0].Blobs[0].ID}, Reason: lethe.ReasonSurplus, Fence: fence, Lease: lease}
	w.unchanged(func() { w.fails(refused(w.TrimCopies(w.ctx, trim)), lethe.ErrPreconditionFailed) })
	w.verify(a.BlobID)
	equal(w, "trimmed", must(w.TrimCopies(w.ctx, trim))(w), 1)
}

func segmentsTrusted(w *world) {
	done := w.completeOnto("k")
	s := w.get("k").Segments
	w.later(window)
	w.verify(s[0].Blobs[0].ID)
	w.fails(refused(w.Commit(w.ctx, w.from(done.Object, "r"))), lethe.ErrUnverified)
	u := w.open("l")
	a, b := w.part(u, 1, "one k"), w.part(u, 2, "two k")
	equal(w, "duplicate", w.finish(u, "whole", a, b).Duplicate, false)
	w.in(s[0].Blobs[0].ID, lethe.Live)
	w.replaced(s[1].Blobs[0].ID, b.BlobID)
	equal(w, "to be placed", len(w.placements().Items), 1)
	w.commit(w.from(done.Object, "r"))
}

// doubtedBackend: once a backend's pairing is in doubt, no copy written or verified before
// is trusted.
func doubtedBackend(w *world) {
	a := w.put("a", "body")
	w.verify(w.onlyBlob("a").ID)
	seen := must(w.Backends(w.ctx))(w)[0]
	w.ok(w.ChangeHold(w.ctx, seen, ledger.BackendHold{For: ledger.HeldForBackend, Reason: "an older copy"}))
	w.untrusted(a, "body")
	w.ok(w.HoldBackend(w.ctx, disk, ""))
	w.untrusted(a, "body")
	w.later(time.Second)
	old := w.onlyBlob("a").ID
	c := w.written("b", "body")
	w.commit(c)
	w.replaced(old, c.Blobs[0].Blob)
	w.commit(w.reference("r", "body"))
}

// doubtedParts: no completion takes a part that may be gone. Where the content is trusted, the
// parts are not needed.
func doubtedParts(w *world) {
	u, again := w.open("k"), w.open("again")
	a, b, none := w.part(u, 1, "one k"), w.part(u, 2, "two k"), w.part(u, 3, "")
	c, d := w.part(again, 1, "one k"), w.part(again, 2, "two k")
	seen := must(w.Backends(w.ctx))(w)[0]
	w.ok(w.ChangeHold(w.ctx, seen, ledger.BackendHold{For: ledger.HeldForBackend, Reason: "an older copy"}))
	w.later(time.Second)
	ask := w.completion(u, "whole", a, b, none)
	refuse := func(parts ...ledger.Part) {
		w.Helper()
		var err error
		w.unchanged(func() { err = refused(w.Complete(w.ctx, ask)) })
		w.fails(err, lethe.ErrUnverified)
		equal(w, "to be read", names(ledger.UnreadParts(err), func(b ledger.Blob) string { return string(b.ID) }),
			names(parts, func(p ledger.Part) string { return string(p.BlobID) }))
	}
	refuse(a, b)
	w.verify(a.BlobID)
	refuse(b)
	w.verify(b.BlobID)
	must(w.Complete(w.ctx, ask))(w)
	equal(w, "duplicate", w.finish(again, "whole", c, d).Duplicate, true)
	w.sound()
}

func heldByPerson(w *world) {
	w.put("a", "body")
	w.ok(w.HoldBackend(w.ctx, disk, "looking into it"))
	w.commit(w.reference("r", "body"))
}

// promotedOver: the bytes of a promoted write were read, so they replace the older copy.
func promotedOver(w *world) {
	w.put("a", "body")
	old := w.onlyBlob("a").ID
	w.later(window)
	id, _ := w.provable("b", "body")
	w.later(time.Hour)
	in := w.silent()
	equal(w, "silent", len(in.Intents), 1)
	done := must(w.Promote(w.ctx, in.Fence, id, lethe.BlockSums{}))(w)
	equal(w, "duplicate", done.Duplicate, false)
	w.replaced(old, id)
}

func trimAfterWindow(w *world) {
	a, b, fence := w.twice("k", "body")
	trim := ledger.Trim{Content: a.ContentID, Blobs: []lethe.ID{a.ID}, Reason: lethe.ReasonSurplus, Fence: fence, Lease: lease}
	refuse := func() {
		w.Helper()
		w.unchanged(func() { w.fails(refused(w.TrimCopies(w.ctx, trim)), lethe.ErrPreconditionFailed) })
	}
	refuse() // it was written recently, and never read
	w.verify(b.ID)
	w.later(window)
	refuse()
	w.verify(b.ID)
	w.later(window - time.Microsecond)
	equal(w, "trimmed", must(w.TrimCopies(w.ctx, trim))(w), 1)
}

func trimNever(w *world) {
	a, b, fence := w.twice("k", "body")
	trim := ledger.Trim{Content: a.ContentID, Blobs: []lethe.ID{a.ID}, Reason: lethe.ReasonSurplus, Fence: fence, Lease: lease}
	w.verify(b.ID)
	w.later(time.Minute)
	equal(w, "trimmed", must(w.TrimCopies(w.ctx, trim))(w), 1)
}
