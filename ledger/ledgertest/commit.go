package ledgertest

import (
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func commitTests() []test {
	return []test{
		{name: "an object", run: commitObject},
		{name: "zero bytes", run: commitZero},
		{name: "attributes come back", run: commitAttrs},
		{name: "what is passed in is not shared", run: notShared},
		{name: "overwrite", run: overwrite},
		{name: "overwrite with the same bytes", run: overwriteSame},
		{name: "overwrite what is past its time", run: overwriteExpired},
		{name: "invalid keys", run: invalidKeys},
		{name: "reaped", run: commitReaped},
		{name: "asked again", run: commitAgain},
		{name: "late upload", run: commitLate},
		{name: "quota of objects", run: quotaObjects},
		{name: "quota of bytes", run: quotaBytes},
		{name: "canceled", run: canceled},
	}
}

func commitObject(w *world) {
	b := must(w.Bucket(w.ctx, bucketName))(w)
	c := w.written("k", "body")
	w.later(time.Second)
	done := w.commit(c)
	o := done.Object
	if o.ID != c.Op || o.BucketID != b.ID || o.Bucket != bucketName || o.ModifiedAt != w.now() || o.ContentID == "" || o.TTLAt != 0 {
		w.Fatalf("object is %+v", o)
	}
	if done.Replaced || done.Duplicate || len(done.Dropped) > 0 {
		w.Fatalf("answer is %+v", done)
	}
	r := w.get("k")
	equal(w, "object", plain(r.Object), plain(o))
	equal(w, "now", r.Now, w.now())
	equal(w, "size", r.Segments[0].Size, 4)
	equal(w, "digest", r.Segments[0].Digest, sum("body"))
	have := w.row(w.onlyBlob("k").ID)
	if have.State != lethe.Live || have.ContentID != o.ContentID || have.Segment != 0 || have.Replica != 0 || have.Suspect || have.DueAt != 0 {
		w.Fatalf("blob is %+v", have)
	}
	w.totals(0, 1, 0, 0)
}

func commitZero(w *world) {
	o := w.put("empty", "")
	equal(w, "content", o.ContentID, "")
	equal(w, "segments", len(w.get("empty").Segments), 0)
	w.put("empty", "full")
	w.put("empty", "")
	w.remove("empty")
	w.absent("empty")
}

func commitAttrs(w *world) {
	c := w.written("k", "body")
	c.Object.Attrs = ledger.Attrs{
		ContentType: "t", ContentEncoding: "e", ContentDisposition: "d", ContentLanguage: "l", CacheControl: "c", Expires: "x", Redirect: "r",
		User: map[string]string{"ä": "ö"}, Checksums: map[string]string{"CRC32": "AAAA"}, ChecksumType: "FULL_OBJECT",
		Parts: []ledger.PartAttrs{{Number: 1, Size: 4, Checksums: map[string]string{"SHA1": "x"}}},
		ACL:   &ledger.ACL{},
	}
	c.Object.Tags = map[string]string{"": "empty", "k": ""}
	w.commit(c)
	o := w.get("k").Object
	equal(w, "attributes", plain(o.Attrs), plain(c.Object.Attrs))
	equal(w, "tags", plain(o.Tags), plain(c.Object.Tags))
	page := must(w.List(w.ctx, ledger.ListQuery{Bucket: bucketName, Limit: 9}))(w)
	short := o
	short.Attrs.User, short.Attrs.Parts, short.Attrs.ACL = nil, nil, nil
	equal(w, "listed without what may be long", plain(page.Objects[0]), plain(short))
}

func notShared(w *world) {
	c := w.written("k", "body")
	c.Object.Tags = map[string]string{"a": "b"}
	c.Object.Attrs.User = map[string]string{"a": "b"}
	w.commit(c)
	c.Object.Tags["a"], c.Object.Attrs.User["a"] = "changed", "changed"
	o := w.get("k").Object
	o.Tags["a"], o.Attrs.User["a"] = "changed", "changed"
	have := w.get("k").Object
	equal(w, "tag", have.Tags["a"], "b")
	equal(w, "user", have.Attrs.User["a"], "b")
}

func overwrite(w *world) {
	old := w.put("k", "old")
	id := w.onlyBlob("k").ID
	w.later(time.Second)
	done := w.commit(w.written("k", "new"))
	if !done.Replaced || len(done.Dropped) != 1 || done.Dropped[0] != old.ContentID {
		w.Fatalf("answer is %+v", done)
	}
	w.condemned(id, lethe.ReasonOverwrite, w.now().Add(readGrace))
	b := w.row(id)
	equal(w, "died", b.DiedAt, w.now())
	equal(w, "content is kept for explain", b.ContentID, old.ContentID)
	w.totals(0, 1, 1, 0)
}

func overwriteSame(w *world) {
	old := w.put("k", "body")
	id := w.onlyBlob("k").ID
	done := w.commit(w.written("k", "body"))
	if !done.Replaced || !done.Duplicate || len(done.Dropped) > 0 || done.Object.ContentID != old.ContentID {
		w.Fatalf("answer is %+v", done)
	}
	equal(w, "blob", w.onlyBlob("k").ID, id)
	w.commit(w.reference("k", "body"))
	w.remove("k")
	w.in(id, lethe.Condemned)
}

// overwriteExpired: an expired object is not replaced, it expires.
func overwriteExpired(w *world) {
	w.configure(ledger.BucketSettings{Undo: time.Hour})
	w.putTTL("k", "old", time.Minute)
	id, due := w.onlyBlob("k").ID, w.now().Add(time.Minute)
	w.later(time.Hour)
	done := w.commit(w.written("k", "new"))
	equal(w, "replaced", done.Replaced, false)
	equal(w, "trash", len(must(w.Trash(w.ctx, ledger.TrashQuery{}))(w)), 0)
	w.condemned(id, lethe.ReasonExpiry, w.now().Add(readGrace))
	equal(w, "died", w.row(id).DiedAt, due)
}

func invalidKeys(w *world) {
	longest := strings.Repeat("k", 1024)
	for _, key := range []string{"", longest + "k", "nul\x00", "\xff"} {
		c := w.reference(key, "")
		w.unchanged(func() {
			w.fails(refused(w.Commit(w.ctx, c)), lethe.ErrInvalidKey)
			w.fails(refused(w.CreateUpload(w.ctx, ledger.Upload{Bucket: bucketName, Key: key})), lethe.ErrInvalidKey)
			d := w.remove(key)
			w.fails(d.Items[0].Err, lethe.ErrInvalidKey)
		})
	}
	for _, key := range []string{longest, " ", "..", "/", "a\nb", "\U0010ffff", "'; --"} {
		w.put(key, "x")
		w.get(key)
	}
}

func commitReaped(w *world) {
	used := w.written("k", "body")
	w.commit(used)
	gone := w.written("k", "other")
	w.ok(w.Abandon(w.ctx, gone.Blobs[0].Blob, false))
	unknown := w.reference("k", "x")
	unknown.Blobs = []ledger.Uploaded{{Blob: w.id(), Size: 1, Digest: sum("x")}}
	used.Op = w.id()
	duplicate := w.reference("l", "body")
	duplicate.Blobs = gone.Blobs
	for _, c := range []ledger.Commit{used, gone, unknown, duplicate} {
		w.unchanged(func() { w.fails(refused(w.Commit(w.ctx, c)), lethe.ErrReaped) })
	}
}

// commitAgain: an operation is applied once, and its repetition returns the object.
func commitAgain(w *world) {
	c := w.written("k", "body")
	first := w.commit(c).Object
	again := w.commit(c)
	equal(w, "object", plain(again.Object), plain(first))
	w.put("k", "newer")
	w.unchanged(func() {
		equal(w, "object", w.commit(c).Object.ID, first.ID)
	})
	w.unchanged(func() {
		w.broken(refused(w.Delete(w.ctx, ledger.Deletion{Op: c.Op, Bucket: bucketName, Items: []ledger.DeleteItem{{Key: "k"}}})))
		w.broken(refused(w.Update(w.ctx, ledger.Update{Op: c.Op, Bucket: bucketName, Key: "k", Tags: &map[string]string{"a": "b"}})))
	})
}

// commitLate: an upload that may still land keeps its blob's row until a delete after the
// late window.
func commitLate(w *world) {
	c := w.written("k", "body")
	c.Blobs[0].Late = true
	w.commit(c)
	id, until := c.Blobs[0].Blob, w.now().Add(lateWindow)
	equal(w, "late until", w.row(id).LateUntil, until)
	w.remove("k")
	w.later(readGrace)
	equal(w, "kept", w.clean().Kept, 1)
	w.condemned(id, lethe.ReasonDelete, until)
	dup := w.written("l", "twice")
	w.commit(dup)
	dup = w.written("l", "twice")
	dup.Blobs[0].Late = true
	w.commit(dup)
	equal(w, "late until", w.row(dup.Blobs[0].Blob).LateUntil, w.now().Add(lateWindow))
}

func quotaObjects(w *world) {
	w.configure(ledger.BucketSettings{QuotaObjects: 2})
	w.put("a", "1")
	w.putTTL("b", "", time.Minute)
	w.put("b", "2")
	c := w.written("c", "3")
	w.unchanged(func() { w.fails(refused(w.Commit(w.ctx, c)), lethe.ErrQuotaExceeded) })
	w.remove("a")
	w.commit(c)
	w.configure(ledger.BucketSettings{QuotaObjects: 1})
	w.put("b", "other")
	if err := refused(w.Commit(w.ctx, w.written("d", "4"))); err == nil || !strings.Contains(err.Error(), " may have 1 object and has 2: ") {
		w.Errorf("beyond a quota of one: %v", err)
	}
}

// quotaBytes counts logical bytes: shared bytes count each time. A write that shrinks the
// bucket is not refused.
func quotaBytes(w *world) {
	w.configure(ledger.BucketSettings{QuotaBytes: 10})
	w.put("a", "12345")
	w.put("b", "12345")
	for _, c := range []ledger.Commit{w.written("c", "1"), w.reference("c", "12345"), w.written("a", "123456")} {
		w.unchanged(func() { w.fails(refused(w.Commit(w.ctx, c)), lethe.ErrQuotaExceeded) })
	}
	w.put("c", "")
	w.configure(ledger.BucketSettings{QuotaBytes: 1})
	w.put("a", "1234")
	w.put("b", "abcd")
	w.unchanged(func() { w.fails(refused(w.Commit(w.ctx, w.reference("a", "abcde"))), lethe.ErrContentGone) })
	w.remove("a", "b")
	w.put("a", "1")
}

func canceled(w *world) {
	c := w.written("k", "body")
	ctx, cancel := contextCanceled(w.ctx)
	defer cancel()
	w.unchanged(func() {
		w.broken(refused(w.Commit(ctx, c)))
		w.broken(refused(w.Resolve(ctx, bucketName, "k")))
		w.broken(refused(w.Expire(ctx, ledger.Batch{})))
	})
	w.commit(c)
}
