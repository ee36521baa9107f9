package ledgertest

import (
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func trashTests() []test {
	return []test{
		{name: "deleted and replaced objects", run: binned},
		{name: "no undo, no trash", run: noUndo},
		{name: "no longer than alive", run: noLonger},
		{name: "the trash keeps the reference", run: trashReference},
		{name: "restore", run: restore},
		{name: "restore onto a taken key", run: restoreTaken},
		{name: "restore onto a key past its time", run: restoreExpired},
		{name: "restore of what is over", run: restoreOver},
		{name: "restore refused", run: restoreRefused},
		{name: "restore into another's bucket", run: restoreForeign},
		{name: "restore into a full bucket", run: restoreQuota},
		{name: "purge", run: purge},
		{name: "purge by batch", run: purgeBatch},
		{name: "purge at once", run: purgeNow},
		{name: "listing", run: listTrash},
		{name: "expiry passes the trash by", run: expiryNoTrash},
		{name: "backlog", run: purgeBacklog},
	}
}

// undo sets an undo window of an hour.
func (w *world) undo() {
	w.Helper()
	w.configure(ledger.BucketSettings{Undo: time.Hour})
}

// bin returns the trash.
func (w *world) bin() []ledger.TrashEntry {
	w.Helper()
	return must(w.Trash(w.ctx, ledger.TrashQuery{}))(w)
}

func binned(w *world) {
	w.undo()
	c := w.written("k", "one")
	c.Object.Tags, c.TTL = map[string]string{"a": "b"}, 5*time.Hour
	first := w.commit(c).Object
	w.later(time.Second)
	done := w.commit(w.written("k", "two"))
	if !done.Replaced || len(done.Dropped) > 0 {
		w.Fatalf("answer is %+v", done)
	}
	replaced := w.now()
	w.later(time.Second)
	equal(w, "dropped", len(w.remove("k").Dropped), 0)
	bin := w.bin()
	if len(bin) != 2 || bin[0].Reason != lethe.ReasonOverwrite || bin[1].Reason != lethe.ReasonDelete {
		w.Fatalf("trash is %+v", bin)
	}
	first.BucketID = ""
	equal(w, "object", plain(bin[0].Object), plain(first))
	equal(w, "deleted", bin[0].DeletedAt, replaced)
	equal(w, "purge", bin[0].PurgeAt, replaced.Add(time.Hour))
	equal(w, "object", bin[1].Object.ID, done.Object.ID)
	b := must(w.Bucket(w.ctx, bucketName))(w)
	equal(w, "objects in the bucket", b.Objects+b.Bytes, 0)
	w.totals(0, 2, 0, 0)
}

// noLonger: the trash keeps nothing beyond the object's own time to live.
func noLonger(w *world) {
	w.undo()
	ends := w.now().Add(time.Minute)
	for _, key := range []string{"deleted", "replaced"} {
		c := w.written(key, "body of "+key)
		c.TTL = time.Minute
		w.commit(c)
	}
	w.put("replaced", "another")
	w.remove("deleted")
	for _, e := range w.bin() {
		equal(w, "purge of what was "+e.Object.Key, e.PurgeAt, ends)
	}
	w.later(time.Minute)
	equal(w, "purged", must(w.Purge(w.ctx, ledger.Batch{Limit: 10}))(w).Objects, 2)
}

func noUndo(w *world) {
	w.put("k", "one")
	w.put("k", "two")
	w.remove("k")
	equal(w, "trash", len(w.bin()), 0)
	w.totals(0, 0, 2, 0)
}

func trashReference(w *world) {
	w.undo()
	w.put("k", "body")
	id := w.onlyBlob("k").ID
	w.remove("k")
	equal(w, "duplicate", w.commit(w.written("l", "body")).Duplicate, true)
	w.configure(ledger.BucketSettings{})
	w.remove("l")
	w.in(id, lethe.Live)
}

// restoreQuota: a restore needs room in the quota, as a write does.
func restoreQuota(w *world) {
	w.undo()
	w.put("k", "body")
	w.remove("k")
	w.put("other", "12345678")
	id := w.bin()[0].ID
	for _, s := range []ledger.BucketSettings{{QuotaObjects: 1}, {QuotaBytes: 11}} {
		s.Undo = time.Hour
		w.configure(s)
		w.unchanged(func() { w.fails(refused(w.Restore(w.ctx, w.id(), id, false)), lethe.ErrQuotaExceeded) })
	}
	w.configure(ledger.BucketSettings{QuotaObjects: 2, QuotaBytes: 12, Undo: time.Hour})
	must(w.Restore(w.ctx, w.id(), id, false))(w)
}

func restore(w *world) {
	w.undo()
	old := w.put("k", "body")
	w.remove("k")
	w.later(time.Minute)
	op := w.id()
	o := must(w.Restore(w.ctx, op, w.bin()[0].ID, false))(w)
	if o.ID != op || o.ModifiedAt != old.ModifiedAt || o.ContentID != old.ContentID || o.Bucket != bucketName || o.BucketID != old.BucketID {
		w.Fatalf("object is %+v", o)
	}
	equal(w, "object", plain(w.get("k").Object), plain(o))
	equal(w, "trash", len(w.bin()), 0)
	if out, found, _ := w.Outcome(w.ctx, op); !found || out.What != "restore" || out.ObjectID != op {
		w.Fatalf("outcome is %+v", out)
	}
	w.remove("k")
	equal(w, "object", w.bin()[0].Object.ID, op)
}

func restoreTaken(w *world) {
	w.undo()
	w.put("k", "old")
	w.put("k", "new")
	entry := w.bin()[0].ID
	w.unchanged(func() { w.fails(refused(w.Restore(w.ctx, w.id(), entry, false)), lethe.ErrPreconditionFailed) })
	must(w.Restore(w.ctx, w.id(), entry, true))(w)
	equal(w, "etag", w.get("k").Object.ETag, etag("old"))
	equal(w, "replaced", w.bin()[0].Object.ETag, etag("new"))
	entry = w.bin()[0].ID
	id := w.onlyBlob("k").ID
	w.configure(ledger.BucketSettings{})
	must(w.Restore(w.ctx, w.id(), entry, true))(w)
	w.condemned(id, lethe.ReasonOverwrite, w.now().Add(readGrace))
}

func restoreExpired(w *world) {
	w.undo()
	w.put("k", "old")
	w.remove("k")
	w.putTTL("k", "short", time.Minute)
	id := w.onlyBlob("k").ID
	w.later(time.Minute)
	must(w.Restore(w.ctx, w.id(), w.bin()[0].ID, false))(w)
	w.condemned(id, lethe.ReasonExpiry, w.now().Add(readGrace))
	equal(w, "etag", w.get("k").Object.ETag, etag("old"))
}

// restoreOver: what was deleted lives no longer than it would have, also until it is purged.
func restoreOver(w *world) {
	w.undo()
	w.putTTL("k", "short", time.Minute)
	w.remove("k")
	entry := w.bin()[0].ID
	w.later(time.Minute)
	w.unchanged(func() { w.fails(refused(w.Restore(w.ctx, w.id(), entry, true)), lethe.ErrTrashNotFound) })
	w.ok(w.DeleteBucket(w.ctx, bucketName, ""))
	w.unchanged(func() { w.fails(refused(w.Restore(w.ctx, w.id(), entry, true)), lethe.ErrNoSuchBucket) })
}

func restoreRefused(w *world) {
	w.unchanged(func() { w.fails(refused(w.Restore(w.ctx, w.id(), w.id(), true)), lethe.ErrTrashNotFound) })
	w.undo()
	c := w.written("k", "body")
	w.commit(c)
	w.remove("k")
	entry := w.bin()[0].ID
	w.unchanged(func() { w.broken(refused(w.Restore(w.ctx, c.Op, entry, true))) })
	must(w.Restore(w.ctx, w.id(), entry, false))(w)
	w.unchanged(func() { w.fails(refused(w.Restore(w.ctx, w.id(), entry, true)), lethe.ErrTrashNotFound) })
}

// restoreForeign: what was deleted comes back into no bucket of somebody else that got its name.
func restoreForeign(w *world) {
	for i, body := range []string{"body", ""} {
		create := func(owner string) {
			must(w.CreateBucket(w.ctx, ledger.Bucket{Name: "x", Owner: owner, BucketSettings: ledger.BucketSettings{Undo: time.Hour}}))(w)
		}
		create("alice")
		c := w.written("k", body)
		c.Object.Bucket = "x"
		w.commit(c)
		must(w.Delete(w.ctx, ledger.Deletion{Op: w.id(), Bucket: "x", Items: []ledger.DeleteItem{{Key: "k"}}}))(w)
		w.ok(w.DeleteBucket(w.ctx, "x", ""))
		w.later(time.Second)
		create("bob")
		entry := w.bin()[i].ID
		w.unchanged(func() { w.fails(refused(w.Restore(w.ctx, w.id(), entry, false)), lethe.ErrNoSuchBucket) })
		w.ok(w.DeleteBucket(w.ctx, "x", ""))
	}
}

func purge(w *world) {
	w.undo()
	o := w.put("k", "body")
	id := w.onlyBlob("k").ID
	w.remove("k")
	due := w.now().Add(time.Hour)
	w.later(time.Hour - 1000)
	equal(w, "purged", plain(must(w.Purge(w.ctx, ledger.Batch{}))(w)), plain(ledger.Reclaimed{}))
	w.later(time.Minute)
	r := must(w.Purge(w.ctx, ledger.Batch{Limit: 10}))(w)
	equal(w, "purged", plain(r), plain(ledger.Reclaimed{Objects: 1, Bytes: 4, Blobs: 1, BlobBytes: 4, Dropped: []lethe.ID{o.ContentID}, LastDue: due}))
	w.condemned(id, lethe.ReasonPurge, w.now().Add(readGrace))
	equal(w, "died", w.row(id).DiedAt, due)
	equal(w, "trash", len(w.bin()), 0)
}

func purgeBatch(w *world) {
	w.undo()
	for _, k := range []string{"a", "b", "c"} {
		w.put(k, "body "+k)
		w.remove(k)
		w.later(time.Second)
	}
	w.later(time.Hour)
	r := must(w.Purge(w.ctx, ledger.Batch{Limit: 2}))(w)
	if r.Objects != 2 || !r.More {
		w.Fatalf("purged %+v", r)
	}
	r = must(w.Purge(w.ctx, ledger.Batch{Limit: 2, After: r.LastDue}))(w)
	if r.Objects != 1 || r.More {
		w.Fatalf("purged %+v", r)
	}
}

func purgeNow(w *world) {
	w.undo()
	w.put("k", "body")
	w.remove("k")
	w.put("l", "other")
	w.remove("l")
	id := w.bin()[0].ID
	equal(w, "due", must(w.PurgeTrash(w.ctx, []lethe.ID{id, w.id()}))(w), 1)
	equal(w, "due", must(w.PurgeTrash(w.ctx, []lethe.ID{id}))(w), 0)
	equal(w, "purge", w.bin()[0].PurgeAt, w.now())
	equal(w, "purged", must(w.Purge(w.ctx, ledger.Batch{}))(w).Objects, 1)
	w.fails(refused(w.Restore(w.ctx, w.id(), id, false)), lethe.ErrTrashNotFound)
	equal(w, "left", len(w.bin()), 1)
}

func listTrash(w *world) {
	w.undo()
	for _, k := range []string{"b/1", "a/1", "b/2", "b%"} {
		w.put(k, "body")
		w.remove(k)
		w.later(time.Second)
	}
	page := func(q ledger.TrashQuery) []ledger.TrashEntry { return must(w.Trash(w.ctx, q))(w) }
	key := func(e ledger.TrashEntry) string { return e.Object.Key }
	equal(w, "all", names(page(ledger.TrashQuery{}), key), "b/1;a/1;b/2;b%;")
	equal(w, "prefix", names(page(ledger.TrashQuery{Prefix: "b%"}), key), "b%;")
	equal(w, "other bucket", names(page(ledger.TrashQuery{Bucket: "other"}), key), "")
	two := page(ledger.TrashQuery{Bucket: bucketName, Prefix: "b/", Limit: 1})
	equal(w, "page", names(two, key), "b/1;")
	equal(w, "next", names(page(ledger.TrashQuery{Prefix: "b/", Limit: 1, After: two[0].ID}), key), "b/2;")
}

func expiryNoTrash(w *world) {
	w.undo()
	w.putTTL("k", "body", time.Minute)
	w.later(time.Minute)
	must(w.Expire(w.ctx, ledger.Batch{}))(w)
	equal(w, "trash", len(w.bin()), 0)
	w.totals(0, 0, 1, 0)
}

func purgeBacklog(w *world) {
	w.undo()
	w.put("k", "body")
	w.remove("k")
	due := w.now().Add(time.Hour)
	equal(w, "backlog", must(w.PurgeBacklog(w.ctx))(w), ledger.Backlog{NextDue: due, Scheduled: 1})
	w.later(2 * time.Hour)
	equal(w, "backlog", must(w.PurgeBacklog(w.ctx))(w), ledger.Backlog{Count: 1, Bytes: 4, Oldest: due})
}
