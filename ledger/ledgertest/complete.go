package ledgertest

import (
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func completeTests() []test {
	return []test{
		{name: "parts become segments", run: complete},
		{name: "exactly the parts named", run: completeSubset},
		{name: "parts of zero bytes", run: completeEmpty},
		{name: "wrong parts", run: completeWrong},
		{name: "suspect parts", run: completeSuspect},
		{name: "too small", run: completeSmall},
		{name: "the errors of commit", run: completeRefused},
		{name: "known bytes", run: completeDuplicate},
		{name: "a copy repairs suspect bytes", run: completeRepairs},
		{name: "overwrites", run: completeOverwrites},
		{name: "with the upload's wishes", run: completeWishes},
		{name: "parts on their way", run: completePending},
		{name: "asked again", run: completeAgain},
	}
}

// completion returns a completion of parts.
func (w *world) completion(u ledger.Upload, etag string, parts ...ledger.Part) ledger.Completion {
	c := ledger.Completion{Op: w.id(), UploadID: u.ID, Bucket: u.Bucket, Key: u.Key, Commit: ledger.Commit{Object: ledger.Object{ETag: etag}}}
	for _, p := range parts {
		c.Parts = append(c.Parts, ledger.PartName{Number: p.Number, ETag: p.ETag})
	}
	return c
}

// finish completes an upload.
func (w *world) finish(u ledger.Upload, etag string, parts ...ledger.Part) ledger.Committed {
	w.Helper()
	return must(w.Complete(w.ctx, w.completion(u, etag, parts...)))(w)
}

// completeOnto completes a new upload to a key.
func (w *world) completeOnto(key string) ledger.Committed {
	w.Helper()
	u := w.open(key)
	return w.finish(u, "whole", w.part(u, 1, "one "+key), w.part(u, 2, "two "+key))
}

func complete(w *world) {
	u := w.open("k")
	b, a := w.part(u, 9, "second"), w.part(u, 3, "first")
	w.later(time.Second)
	c := w.completion(u, "whole-2", a, b)
	done := must(w.Complete(w.ctx, c))(w)
	o := done.Object
	if o.ID != c.Op || o.Key != "k" || o.Size != 11 || o.ETag != "whole-2" || o.ModifiedAt != w.now() || done.Replaced || done.Duplicate {
		w.Fatalf("answer is %+v", done)
	}
	r := w.get("k")
	equal(w, "object", plain(r.Object), plain(o))
	equal(w, "segments", names(r.Segments, func(s ledger.Segment) string { return s.Digest }), sum("first")+";"+sum("second")+";")
	for i, s := range r.Segments {
		b := s.Blobs[0]
		if len(s.Blobs) != 1 || b.Segment != i || b.UploadID != "" || b.Part != 0 || b.ContentID != o.ContentID {
			w.Fatalf("segment %d is %+v", i, s)
		}
	}
	if out, found, _ := w.Outcome(w.ctx, c.Op); !found || out.What != "complete" || out.ObjectID != o.ID {
		w.Fatalf("outcome is %+v, %v", out, found)
	}
	w.fails(refused(w.UploadByID(w.ctx, u.ID)), lethe.ErrNoSuchUpload)
	w.totals(0, 2, 0, 0)
	w.remove("k")
	w.totals(0, 0, 2, 0)
}

func completeSubset(w *world) {
	u := w.open("k")
	w.part(u, 1, "no")
	a := w.part(u, 2, "yes")
	left := w.part(u, 3, "neither")
	done := w.finish(u, "whole", a)
	equal(w, "size", done.Object.Size, 3)
	w.condemned(left.BlobID, lethe.ReasonPart, w.now().Add(readGrace))
	w.totals(0, 1, 2, 0)
}

func completeEmpty(w *world) {
	u := w.open("k")
	a, b, c := w.part(u, 1, "a"), w.part(u, 2, ""), w.part(u, 3, "c")
	done := w.finish(u, "whole", a, b, c)
	equal(w, "size", done.Object.Size, 2)
	equal(w, "segments", len(w.get("k").Segments), 2)
	u = w.open("l")
	done = w.finish(u, "nothing", w.part(u, 1, ""))
	equal(w, "content", done.Object.ContentID, "")
	equal(w, "segments", len(w.get("l").Segments), 0)
}

func completeWrong(w *world) {
	u := w.open("k")
	a, b := w.part(u, 1, "a"), w.part(u, 2, "b")
	wrong, missing := a, b
	wrong.ETag = "other"
	missing.Number = 5
	for _, c := range []struct {
		parts []ledger.Part
		kind  error
	}{
		{nil, lethe.ErrInvalidPart},
		{[]ledger.Part{wrong, b}, lethe.ErrInvalidPart},
		{[]ledger.Part{a, missing}, lethe.ErrInvalidPart},
		{[]ledger.Part{b, a}, lethe.ErrInvalidPartOrder},
		{[]ledger.Part{a, a}, lethe.ErrInvalidPartOrder},
		{[]ledger.Part{missing, wrong}, lethe.ErrInvalidPartOrder},
	} {
		w.unchanged(func() { w.fails(refused(w.Complete(w.ctx, w.completion(u, "e", c.parts...))), c.kind) })
	}
	w.finish(u, "whole", a, b)
}

// completeSuspect: a part found missing or damaged counts as not stored, until it is sent
// again or found sound.
func completeSuspect(w *world) {
	u := w.open("k")
	a, b := w.part(u, 1, "a"), w.part(u, 2, "b")
	must(w.MarkSuspect(w.ctx, []lethe.ID{b.BlobID}, "missing"))(w)
	w.unchanged(func() { w.fails(refused(w.Complete(w.ctx, w.completion(u, "e", a, b))), lethe.ErrInvalidPart) })
	listed := func() string {
		return names(must(w.Parts(w.ctx, u.ID, 0, 9))(w), func(p ledger.Part) string { return p.ETag })
	}
	equal(w, "parts", listed(), etag("a")+";")
	must(w.MarkSound(w.ctx, []lethe.ID{b.BlobID}, 0))(w)
	equal(w, "parts found sound", listed(), etag("a")+";"+etag("b")+";")
	must(w.MarkSuspect(w.ctx, []lethe.ID{a.BlobID, b.BlobID}, "missing"))(w)
	equal(w, "a page", len(must(w.Parts(w.ctx, u.ID, 0, 1))(w)), 0)
	again := w.part(u, 1, "a")
	w.condemned(a.BlobID, lethe.ReasonPart, w.now().Add(readGrace))
	w.finish(u, "whole", again)
	w.condemned(b.BlobID, lethe.ReasonPart, w.now().Add(readGrace))
	w.totals(0, 1, 2, 0)
}

func completeSmall(w *world) {
	u := w.open("k")
	a, b := w.part(u, 1, "12345"), w.part(u, 2, "1")
	c := w.completion(u, "e", a, b)
	c.MinPart = 6
	w.unchanged(func() { w.fails(refused(w.Complete(w.ctx, c)), lethe.ErrPartTooSmall) })
	c.MinPart = 5
	must(w.Complete(w.ctx, c))(w)
}

func completeRefused(w *world) {
	u := w.open("k")
	a := w.part(u, 1, "12345")
	c := w.completion(u, "e", a)
	c.Commit.If.IfMatch = "*"
	w.unchanged(func() { w.fails(refused(w.Complete(w.ctx, c)), lethe.ErrPreconditionFailed) })
	c.Commit.If = ledger.Precondition{}
	w.configure(ledger.BucketSettings{QuotaBytes: 4})
	w.unchanged(func() { w.fails(refused(w.Complete(w.ctx, c)), lethe.ErrQuotaExceeded) })
	w.configure(ledger.BucketSettings{})
	long := must(w.CreateUpload(w.ctx, ledger.Upload{Bucket: bucketName, Key: "l", TTL: time.Hour}))(w)
	late := w.completion(long, "e", w.part(long, 1, "x"))
	w.configure(ledger.BucketSettings{MaxTTL: time.Minute})
	w.unchanged(func() { w.fails(refused(w.Complete(w.ctx, late)), lethe.ErrInvalidTTL) })
	used := c
	used.Op = w.commit(w.written("m", "m")).Object.ID
	w.unchanged(func() { w.broken(refused(w.Complete(w.ctx, used))) })
	must(w.Complete(w.ctx, c))(w)
}

// completeDuplicate: the same bytes in the same parts are a known content; in other parts
// they are another content.
func completeDuplicate(w *world) {
	first := w.completeOnto("k").Object
	u := w.open("l")
	a, b := w.part(u, 5, "one k"), w.part(u, 6, "two k")
	done := w.finish(u, "whole", a, b)
	if !done.Duplicate || done.Object.ContentID != first.ContentID {
		w.Fatalf("answer is %+v", done)
	}
	w.condemned(a.BlobID, lethe.ReasonDuplicate, w.now())
	w.condemned(b.BlobID, lethe.ReasonDuplicate, w.now())
	u = w.open("m")
	done = w.finish(u, "whole", w.part(u, 1, "one ktwo k"))
	equal(w, "duplicate", done.Duplicate, false)
	u = w.open("n")
	done = w.finish(u, "whole", w.part(u, 1, "two k"), w.part(u, 2, "one k"))
	equal(w, "duplicate", done.Duplicate, false)
	w.put("o", "one ktwo k")
	w.totals(0, 6, 2, 0)
}

func completeRepairs(w *world) {
	w.completeOnto("k")
	old := w.get("k").Segments[1].Blobs[0].ID
	must(w.MarkSuspect(w.ctx, []lethe.ID{old}, "damaged"))(w)
	u := w.open("l")
	done := w.finish(u, "whole", w.part(u, 1, "one k"), w.part(u, 2, "two k"))
	equal(w, "duplicate", done.Duplicate, false)
	s := w.get("k").Segments
	if len(s) != 2 || len(s[0].Blobs) != 2 || len(s[1].Blobs) != 2 || s[1].Blobs[1].ID != old || s[1].Blobs[0].Replica != 1 {
		w.Fatalf("segments are %+v", s)
	}
	w.remove("k")
	w.totals(0, 4, 0, 0)
	w.remove("l")
	w.totals(0, 0, 4, 0)
}

func completeOverwrites(w *world) {
	old := w.put("k", "old")
	u := w.open("k")
	done := w.finish(u, "whole", w.part(u, 1, "new"))
	if !done.Replaced || len(done.Dropped) != 1 || done.Dropped[0] != old.ContentID {
		w.Fatalf("answer is %+v", done)
	}
}

func completeWishes(w *world) {
	u := must(w.CreateUpload(w.ctx, ledger.Upload{Bucket: bucketName, Key: "k", TTL: time.Hour, Tags: map[string]string{"a": "b"}}))(w)
	p := w.part(u, 1, "body")
	w.later(time.Minute)
	c := w.completion(u, "e", p)
	c.Commit.Object.Attrs = ledger.Attrs{ContentType: "t", Parts: []ledger.PartAttrs{{Number: 1, Size: 4}}}
	o := must(w.Complete(w.ctx, c))(w).Object
	w.ends(o, time.Hour)
	equal(w, "tag", o.Tags["a"], "b")
	equal(w, "attributes", plain(w.get("k").Object.Attrs), plain(c.Commit.Object.Attrs))
}

// completePending: a part still in progress when its upload is completed is condemned.
func completePending(w *world) {
	u := w.open("k")
	a := w.part(u, 1, "a")
	c := w.partOf(u, 2, "late")
	w.finish(u, "whole", a)
	w.condemned(c.Part.BlobID, lethe.ReasonPart, w.now().Add(lateWindow))
	w.fails(refused(w.CommitPart(w.ctx, c)), lethe.ErrNoSuchUpload)
}

func completeAgain(w *world) {
	u := w.open("k")
	c := w.completion(u, "whole", w.part(u, 1, "a"))
	first := must(w.Complete(w.ctx, c))(w)
	w.unchanged(func() {
		equal(w, "object", plain(must(w.Complete(w.ctx, c))(w).Object), plain(first.Object))
		other := c
		other.Op = w.id()
		w.fails(refused(w.Complete(w.ctx, other)), lethe.ErrNoSuchUpload)
	})
	w.put("k", "newer")
	w.unchanged(func() { w.fails(refused(w.Complete(w.ctx, c)), lethe.ErrNoSuchUpload) })
}
