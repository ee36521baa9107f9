package ledgertest

import (
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func few(o *ledger.Options) { o.MaxRefs = 2 }

func dedupTests() []test {
	return []test{
		{name: "known bytes are kept once", run: keptOnce},
		{name: "the last reference takes the bytes", run: lastReference},
		{name: "a CRC stays with its bytes", run: crcKept},
		{name: "domains do not meet", run: domains},
		{name: "reference without bytes", run: referenceOnly},
		{name: "nothing refers to suspect bytes", run: suspectContent},
		{name: "content out of reach is not referenced", run: outOfReach},
		{name: "known is what can be referenced", run: known},
		{name: "a copy repairs suspect bytes", run: replicaJoins},
		{name: "a content closes", run: closes, options: few},
		{name: "a closed content is not referenced", run: closedRefused, options: few},
		{name: "a closed content stays closed", run: staysClosed, options: few},
		{name: "one reference each", run: closedAtOnce, options: func(o *ledger.Options) { o.MaxRefs = 1 }},
		{name: "copy by reference", run: copySource},
		{name: "copy onto itself", run: copySelf},
		{name: "copy refused", run: copyRefused, options: few},
		{name: "kind and size are identity", run: identity},
	}
}

// crcKept: the CRC stays with the bytes of an object, of a part and of the object completed
// from it.
func crcKept(w *world) {
	w.put("a", "body")
	equal(w, "CRC", w.onlyBlob("a").CRC32C, crc("body"))
	u := w.open("m")
	p := w.part(u, 1, "part")
	equal(w, "CRC of a part", w.row(p.BlobID).CRC32C, crc("part"))
	w.finish(u, "whole", p)
	equal(w, "CRC of a segment", w.get("m").Segments[0].Blobs[0].CRC32C, crc("part"))
}

func keptOnce(w *world) {
	a := w.put("a", "body")
	c := w.written("b", "body")
	done := w.commit(c)
	if !done.Duplicate || done.Object.ContentID != a.ContentID {
		w.Fatalf("answer is %+v", done)
	}
	dup := c.Blobs[0].Blob
	w.condemned(dup, lethe.ReasonDuplicate, w.now())
	equal(w, "content of the duplicate", w.row(dup).ContentID, "")
	equal(w, "died", w.row(dup).DiedAt, w.now())
	equal(w, "blob", w.onlyBlob("b").ID, w.onlyBlob("a").ID)
	w.totals(0, 1, 1, 0)
}

func lastReference(w *world) {
	for _, k := range []string{"a", "b", "c", "d"} {
		w.put(k, "body")
	}
	id := w.onlyBlob("a").ID
	equal(w, "dropped", len(w.remove("a", "b").Dropped), 0)
	w.put("c", "other")
	w.in(id, lethe.Live)
	d := w.remove("d")
	if len(d.Dropped) != 1 {
		w.Fatalf("dropped %v", d.Dropped)
	}
	w.condemned(id, lethe.ReasonDelete, w.now().Add(readGrace))
	o := w.put("e", "body")
	if o.ContentID == d.Dropped[0] || w.onlyBlob("e").ID == id {
		w.Fatal("a condemned content came back")
	}
}

func domains(w *world) {
	must(w.CreateBucket(w.ctx, ledger.Bucket{Name: "theirs", Owner: "them"}))(w)
	a := w.put("k", "body")
	c := w.reference("k", "body")
	c.Object.Bucket = "theirs"
	w.unchanged(func() { w.fails(refused(w.Commit(w.ctx, c)), lethe.ErrContentGone) })
	c.Blobs = []ledger.Uploaded{w.upload("body")}
	done := w.commit(c)
	if done.Duplicate || done.Object.ContentID == a.ContentID {
		w.Fatalf("tenants share a content: %+v", done)
	}
}

func referenceOnly(w *world) {
	w.unchanged(func() { w.fails(refused(w.Commit(w.ctx, w.reference("k", "body"))), lethe.ErrContentGone) })
	a := w.put("a", "body")
	done := w.commit(w.reference("k", "body"))
	equal(w, "content", done.Object.ContentID, a.ContentID)
	w.remove("a")
	w.get("k")
	w.remove("k")
	w.unchanged(func() { w.fails(refused(w.Commit(w.ctx, w.reference("k", "body"))), lethe.ErrContentGone) })
}

func suspectContent(w *world) {
	a := w.put("a", "body")
	id := w.onlyBlob("a").ID
	must(w.MarkSuspect(w.ctx, []lethe.ID{id}, "missing"))(w)
	c := w.reference("k", "body")
	from := c
	from.Source = &ledger.Source{Bucket: bucketName, Key: "a", ID: a.ID}
	w.unchanged(func() {
		w.fails(refused(w.Commit(w.ctx, c)), lethe.ErrContentGone)
		w.fails(refused(w.Commit(w.ctx, from)), lethe.ErrContentGone)
	})
	must(w.MarkSound(w.ctx, []lethe.ID{id}, 0))(w)
	w.commit(c)
}

// outOfReach: content on a backend that the writer cannot read is not referenced without
// bytes. An upload adds one more copy.
func outOfReach(w *world) {
	a := w.put("a", "body")
	old := w.onlyBlob("a").ID
	c := w.reference("k", "body")
	c.Reach = []string{"elsewhere"}
	w.unchanged(func() { w.fails(refused(w.Commit(w.ctx, c)), lethe.ErrContentGone) })
	c = w.written("b", "body")
	c.Reach = []string{"elsewhere"}
	done := w.commit(c)
	if done.Duplicate || done.Object.ContentID != a.ContentID {
		w.Fatalf("answer is %+v", done)
	}
	equal(w, "copies", len(w.get("a").Segments[0].Blobs), 2)
	w.in(old, lethe.Live)
	c = w.reference("k", "body")
	c.Reach = []string{"elsewhere", disk}
	w.commit(c)
	copied := w.reference("l", "body")
	copied.Source, copied.Reach = &ledger.Source{Bucket: bucketName, Key: "a", ID: a.ID}, []string{"elsewhere"}
	w.commit(copied)
}

// known: an intent for unknown bytes is refused where a commit without bytes would succeed,
// whatever room there is, and nothing is begun.
func known(w *world) {
	must(w.CreateBucket(w.ctx, ledger.Bucket{Name: "theirs", Owner: "them"}))(w)
	c := w.reference("k", "body").Content
	begin := func(bucket string, k ledger.ContentKey, size int64) error {
		id := w.id()
		p := &ledger.Promotion{Commit: w.reference("k", "body")}
		p.Commit.Object.Bucket, p.Commit.Content = bucket, k
		p.Commit.Blobs = []ledger.Uploaded{{Blob: id, Size: k.Size, Digest: k.Digest}}
		_, err := w.Begin(w.ctx, ledger.Intent{ID: id, Backend: disk, Size: size, Promotion: p, Unknown: true})
		if err == nil {
			w.ok(w.Abandon(w.ctx, id, false))
		}
		return err
	}
	is := func(bucket string, k ledger.ContentKey, want bool) {
		w.Helper()
		if !want {
			w.ok(begin(bucket, k, k.Size))
			return
		}
		w.unchanged(func() {
			w.fails(begin(bucket, k, k.Size), lethe.ErrContentKnown)
			w.fails(begin(bucket, k, 1<<60), lethe.ErrContentKnown)
		})
	}
	is(bucketName, c, false)
	w.put("a", "body")
	is(bucketName, c, true)
	is("theirs", c, false)
	longer := c
	longer.Size++
	is(bucketName, longer, false)
	id := w.onlyBlob("a").ID
	must(w.MarkSuspect(w.ctx, []lethe.ID{id}, "missing"))(w)
	is(bucketName, c, false)
	must(w.MarkSound(w.ctx, []lethe.ID{id}, 0))(w)
	is(bucketName, c, true)
	w.fails(begin("nobody's", c, c.Size), lethe.ErrNoSuchBucket)
	w.remove("a")
	is(bucketName, c, false)
}

// replicaJoins: an upload of known but suspect bytes becomes one more copy
// (docs/protocol.md, rule 20).
func replicaJoins(w *world) {
	a := w.put("a", "body")
	old := w.onlyBlob("a").ID
	must(w.MarkSuspect(w.ctx, []lethe.ID{old}, "missing"))(w)
	c := w.written("b", "body")
	done := w.commit(c)
	if done.Duplicate || done.Object.ContentID != a.ContentID {
		w.Fatalf("answer is %+v", done)
	}
	blobs := w.get("a").Segments[0].Blobs
	if len(blobs) != 2 || blobs[0].ID != c.Blobs[0].Blob || blobs[0].Replica != 1 || blobs[1].ID != old || !blobs[1].Suspect {
		w.Fatalf("copies are %+v", blobs)
	}
	equal(w, "duplicate", w.commit(w.written("c", "body")).Duplicate, true)
	w.remove("a", "b", "c")
	w.condemned(old, lethe.ReasonDelete, w.now().Add(readGrace))
	w.condemned(blobs[0].ID, lethe.ReasonDelete, w.now().Add(readGrace))
}

func closes(w *world) {
	a, b := w.put("a", "body"), w.put("b", "body")
	equal(w, "content", a.ContentID, b.ContentID)
	c := w.commit(w.written("c", "body"))
	if c.Duplicate || c.Object.ContentID == a.ContentID {
		w.Fatalf("the content took a third reference: %+v", c)
	}
	d := w.put("d", "body")
	equal(w, "sibling", d.ContentID, c.Object.ContentID)
	w.remove("a", "b")
	w.totals(0, 1, 3, 0)
}

func closedRefused(w *world) {
	a := w.put("a", "body")
	w.put("b", "body")
	c := w.reference("c", "body")
	from := c
	from.Source = &ledger.Source{Bucket: bucketName, Key: "a", ID: a.ID}
	self := from
	self.Object.Key = "a"
	for _, c := range []ledger.Commit{c, from, self} {
		w.unchanged(func() { w.fails(refused(w.Commit(w.ctx, c)), lethe.ErrContentGone) })
	}
}

// staysClosed: another content of the key may be open already. Writing the same bytes again
// does not count twice.
func staysClosed(w *world) {
	a := w.put("a", "body")
	w.put("a", "body")
	b := w.put("b", "body")
	equal(w, "content", b.ContentID, a.ContentID)
	w.remove("b")
	if c := w.put("c", "body"); c.ContentID == a.ContentID {
		w.Fatal("a closed content was opened again")
	}
}

func closedAtOnce(w *world) {
	a, b := w.put("a", "body"), w.put("b", "body")
	if a.ContentID == b.ContentID {
		w.Fatal("a content took two references")
	}
	w.put("a", "body")
	w.totals(0, 2, 1, 0)
}

// from returns a commit that copies an object.
func (w *world) from(o ledger.Object, key string) ledger.Commit {
	return ledger.Commit{
		Op: w.id(), What: "copy",
		Object: ledger.Object{Bucket: bucketName, Key: key, Size: o.Size, ETag: o.ETag},
		Source: &ledger.Source{Bucket: o.Bucket, Key: o.Key, ID: o.ID},
	}
}

func copySource(w *world) {
	a := w.put("a", "body")
	done := w.commit(w.from(a, "b"))
	equal(w, "content", done.Object.ContentID, a.ContentID)
	equal(w, "object", done.Object.ID == a.ID, false)
	empty := w.put("empty", "")
	equal(w, "content", w.commit(w.from(empty, "b")).Object.ContentID, "")
	w.remove("a")
	w.totals(0, 0, 1, 0)
}

func copySelf(w *world) {
	a := w.put("a", "body")
	c := w.from(a, "a")
	c.TTL = time.Hour
	done := w.commit(c)
	equal(w, "content", done.Object.ContentID, a.ContentID)
	equal(w, "replaced", done.Replaced, true)
	equal(w, "end", w.get("a").Object.TTLAt, w.now().Add(time.Hour))
	w.totals(0, 1, 0, 0)
}

func copyRefused(w *world) {
	a := w.put("a", "body")
	short := w.putTTL("short", "other", time.Minute)
	stale := a
	stale.ID = w.id()
	nowhere := a
	nowhere.Bucket = "nobody's"
	must(w.CreateBucket(w.ctx, ledger.Bucket{Name: "theirs", Owner: "them"}))(w)
	away := w.from(a, "b")
	away.Object.Bucket = "theirs"
	w.later(time.Minute)
	for _, c := range []struct {
		c    ledger.Commit
		kind error
	}{
		{w.from(stale, "b"), lethe.ErrNoSuchKey}, {w.from(short, "b"), lethe.ErrNoSuchKey}, {w.from(short, "short"), lethe.ErrNoSuchKey},
		{w.from(ledger.Object{Bucket: bucketName, Key: "none", ID: a.ID}, "b"), lethe.ErrNoSuchKey},
		{w.from(nowhere, "b"), lethe.ErrNoSuchBucket}, {away, lethe.ErrContentGone},
	} {
		w.unchanged(func() { w.fails(refused(w.Commit(w.ctx, c.c)), c.kind) })
	}
}

func identity(w *world) {
	a := w.put("a", "body")
	for _, change := range []func(*ledger.ContentKey){
		func(k *ledger.ContentKey) { k.Kind = lethe.Multipart },
		func(k *ledger.ContentKey) { k.Digest = sum("x") },
		func(k *ledger.ContentKey) { k.Size++ },
	} {
		c := w.from(a, "b")
		c.Source, c.Content = nil, ledger.ContentKey{Domain: owner, Kind: lethe.Whole, Digest: sum("body"), Size: 4}
		change(&c.Content)
		w.unchanged(func() { w.fails(refused(w.Commit(w.ctx, c)), lethe.ErrContentGone) })
	}
}
