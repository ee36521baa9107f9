package ledgertest

import (
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func holdTests() []test {
	return []test{
		{name: "what is held is not deleted, replaced or changed", run: heldStays},
		{name: "each scope covers what it says", run: scopesCover},
		{name: "what is held does not expire, leaves the due index, and goes when it is let go", run: heldExpires},
		{name: "what was deleted before is not purged", run: heldTrash},
		{name: "a held object past its time is seen again with a new one", run: heldRevives},
		{name: "two holds are released one by one", run: twoHolds},
		{name: "returning resumes where it ended", run: returnResumes},
		{name: "a bucket with holds is not deleted", run: heldBucket},
		{name: "what was deferred and is gone does not keep a deleted bucket", run: staleDeferred},
		{name: "a deleted bucket keeps what is deferred until it is let go", run: deferredBucket},
		{name: "holds are listed by pages", run: holdPages},
		{name: "what can be no hold", run: noHold},
	}
}

func (w *world) hold(scope ledger.HoldScope, key string) ledger.Hold {
	w.Helper()
	return must(w.AddHold(w.ctx, ledger.Hold{Bucket: bucketName, Scope: scope, Key: key, Reason: "audit", By: "me"}))(w)
}

func (w *world) release(h ledger.Hold) {
	w.Helper()
	w.ok(w.ReleaseHold(w.ctx, h))
}

// returnAll returns all rows that may go to their due index. It reports how many.
func (w *world) returnAll(limit int) (returned int) {
	w.Helper()
	for {
		u := must(w.ReturnDeferred(w.ctx, limit))(w)
		if returned += u.Returned; !u.More {
			return returned
		}
	}
}

func heldStays(w *world) {
	w.put("a", "body")
	w.hold(ledger.HoldObject, "a")
	w.unchanged(func() {
		d := w.remove("a", "b")
		w.fails(d.Items[0].Err, lethe.ErrHeld)
		w.ok(d.Items[1].Err)
		w.fails(refused(w.Commit(w.ctx, w.reference("a", ""))), lethe.ErrHeld)
		w.fails(refused(w.Update(w.ctx, ledger.Update{Op: w.id(), Bucket: bucketName, Key: "a", Attrs: &ledger.Attrs{ContentType: "x"}})), lethe.ErrHeld)
		w.fails(refused(w.Update(w.ctx, ledger.Update{Op: w.id(), Bucket: bucketName, Key: "a", TTL: &ledger.TTLChange{TTL: time.Hour}})), lethe.ErrHeld)
	})
	tags := map[string]string{"a": "b"}
	must(w.Update(w.ctx, ledger.Update{Op: w.id(), Bucket: bucketName, Key: "a", Tags: &tags}))(w)
	w.put("b", "another")
}

func scopesCover(w *world) {
	for _, c := range []struct {
		scope     ledger.HoldScope
		key       string
		held, not string
	}{
		{ledger.HoldObject, "a/b", "a/b", "a/bc"},
		{ledger.HoldLegal, "a/b", "a/b", "a"},
		{ledger.HoldPrefix, "a/", "a/b", "ab"},
		{ledger.HoldPrefix, "ä%_", "ä%_x", "äaab"},
	} {
		w.put(c.held, "body")
		w.put(c.not, "body")
		h := w.hold(c.scope, c.key)
		w.fails(w.remove(c.held).Items[0].Err, lethe.ErrHeld)
		w.ok(w.remove(c.not).Items[0].Err)
		equal(w, "holds on it", len(must(w.HoldsOn(w.ctx, bucketName, c.held))(w)), 1)
		equal(w, "holds on the other", len(must(w.HoldsOn(w.ctx, bucketName, c.not))(w)), 0)
		w.release(h)
		w.ok(w.remove(c.held).Items[0].Err)
	}
	w.hold(ledger.HoldPrefix, "")
	w.put("anything", "body")
	w.fails(w.remove("anything").Items[0].Err, lethe.ErrHeld)
}

func heldExpires(w *world) {
	w.putTTL("a", "body", time.Minute)
	w.putTTL("b", "other", time.Minute)
	blob := w.onlyBlob("a").ID
	h := w.hold(ledger.HoldObject, "a")
	w.later(time.Minute)
	r := must(w.Expire(w.ctx, ledger.Batch{Limit: 10}))(w)
	equal(w, "expired", r.Objects, 1)
	equal(w, "deferred", r.Deferred, 1)
	equal(w, "due", must(w.ExpireBacklog(w.ctx))(w).Count, 0)
	equal(w, "deferred again", must(w.Expire(w.ctx, ledger.Batch{Limit: 10}))(w).Deferred, 0)
	w.fails(refused(w.Commit(w.ctx, w.reference("a", ""))), lethe.ErrHeld)
	w.in(blob, lethe.Live)
	w.release(h)
	equal(w, "returned", w.returnAll(10), 1)
	equal(w, "expired later", must(w.Expire(w.ctx, ledger.Batch{}))(w).Objects, 1)
	w.in(blob, lethe.Condemned)
}

func heldTrash(w *world) {
	w.configure(ledger.BucketSettings{Undo: time.Hour})
	w.put("a", "body")
	blob := w.onlyBlob("a").ID
	w.remove("a")
	h := w.hold(ledger.HoldPrefix, "a")
	w.later(time.Hour)
	r := must(w.Purge(w.ctx, ledger.Batch{Limit: 10}))(w)
	equal(w, "purged", r.Objects, 0)
	equal(w, "deferred", r.Deferred, 1)
	equal(w, "due", must(w.PurgeBacklog(w.ctx))(w).Count, 0)
	entries := must(w.Trash(w.ctx, ledger.TrashQuery{}))(w)
	equal(w, "made due", must(w.PurgeTrash(w.ctx, []lethe.ID{entries[0].ID}))(w), 1)
	equal(w, "purged at once", must(w.Purge(w.ctx, ledger.Batch{}))(w).Objects, 0)
	w.in(blob, lethe.Live)
	w.release(h)
	equal(w, "returned", w.returnAll(0), 1)
	equal(w, "purged later", must(w.Purge(w.ctx, ledger.Batch{}))(w).Objects, 1)
	w.in(blob, lethe.Condemned)
}

func heldRevives(w *world) {
	w.putTTL("a", "body", time.Minute)
	w.hold(ledger.HoldObject, "a")
	w.later(time.Minute)
	must(w.Expire(w.ctx, ledger.Batch{}))(w)
	w.absent("a")
	w.fails(refused(w.Update(w.ctx, ledger.Update{Op: w.id(), Bucket: bucketName, Key: "a", Tags: &map[string]string{}})), lethe.ErrNoSuchKey)
	must(w.Update(w.ctx, ledger.Update{Op: w.id(), Bucket: bucketName, Key: "a", TTL: &ledger.TTLChange{TTL: time.Hour}}))(w)
	w.get("a")
}

func twoHolds(w *world) {
	w.putTTL("a/b", "body", time.Minute)
	one, two := w.hold(ledger.HoldObject, "a/b"), w.hold(ledger.HoldPrefix, "a/")
	w.later(time.Minute)
	equal(w, "deferred", must(w.Expire(w.ctx, ledger.Batch{}))(w).Deferred, 1)
	w.release(one)
	equal(w, "returned", w.returnAll(1), 0)
	w.release(two)
	equal(w, "returned", w.returnAll(1), 1)
	equal(w, "expired", must(w.Expire(w.ctx, ledger.Batch{}))(w).Objects, 1)
}

func returnResumes(w *world) {
	for i := range 5 {
		w.putTTL(fmt.Sprint("k", i), fmt.Sprint("body", i), time.Minute)
	}
	h := w.hold(ledger.HoldPrefix, "k")
	w.later(time.Minute)
	equal(w, "deferred", must(w.Expire(w.ctx, ledger.Batch{}))(w).Deferred, 5)
	w.release(h)
	u := must(w.ReturnDeferred(w.ctx, 2))(w)
	equal(w, "first step", u, ledger.ReturnedRows{Seen: 2, Returned: 2, More: true})
	again := w.hold(ledger.HoldObject, "k4")
	equal(w, "the rest", w.returnAll(2), 2)
	equal(w, "expired", must(w.Expire(w.ctx, ledger.Batch{}))(w).Objects, 4)
	w.release(again)
	equal(w, "the last", w.returnAll(2), 1)
}

func heldBucket(w *world) {
	h := w.hold(ledger.HoldPrefix, "x")
	w.unchanged(func() { w.fails(w.DeleteBucket(w.ctx, bucketName, ""), lethe.ErrHeld) })
	w.put("a", "body")
	w.fails(w.DeleteBucket(w.ctx, bucketName, ""), lethe.ErrBucketNotEmpty)
	w.remove("a")
	// Whoever is told of uploads alone may abort them to delete the bucket.
	u := w.open("b")
	w.unchanged(func() { w.fails(w.DeleteBucket(w.ctx, bucketName, ""), lethe.ErrHeld) })
	w.ok(w.AbortUpload(w.ctx, w.id(), bucketName, "b", u.ID))
	w.release(h)
	w.ok(w.DeleteBucket(w.ctx, bucketName, ""))
}

func deferredBucket(w *world) {
	w.configure(ledger.BucketSettings{Undo: time.Hour})
	w.put("a", "body")
	blob := w.onlyBlob("a").ID
	w.remove("a")
	h := w.hold(ledger.HoldPrefix, "")
	w.later(time.Hour)
	equal(w, "deferred", must(w.Purge(w.ctx, ledger.Batch{}))(w).Deferred, 1)
	w.release(h)
	w.ok(w.DeleteBucket(w.ctx, bucketName, ""))
	equal(w, "pruned early", must(w.Prune(w.ctx, 0))(w), 0)
	equal(w, "returned", w.returnAll(0), 1)
	equal(w, "purged", must(w.Purge(w.ctx, ledger.Batch{}))(w).Objects, 1)
	w.in(blob, lethe.Condemned)
	equal(w, "pruned", must(w.Prune(w.ctx, 0))(w), 1)
}

// staleDeferred: deferred rows that are gone do not keep the bucket's row.
func staleDeferred(w *world) {
	w.putTTL("a", "body", time.Minute)
	w.later(time.Minute)
	equal(w, "deferred", must(w.Expire(w.ctx, ledger.Batch{Limit: 1, Limits: ledger.Limits{TTL: ledger.Limit{Share: 1}}}))(w).Deferred, 1)
	w.put("a", "another")
	w.remove("a")
	w.ok(w.DeleteBucket(w.ctx, bucketName, ""))
	equal(w, "returned", w.returnAll(0), 0)
	equal(w, "pruned", must(w.Prune(w.ctx, 0))(w), 1)
}

func holdPages(w *world) {
	w.bucket("other", ledger.BucketSettings{})
	must(w.AddHold(w.ctx, ledger.Hold{Bucket: "other", Scope: ledger.HoldPrefix}))(w)
	w.hold(ledger.HoldPrefix, "p")
	first := w.hold(ledger.HoldObject, "a")
	w.later(time.Minute)
	equal(w, "set again", w.hold(ledger.HoldObject, "a"), first)
	w.hold(ledger.HoldLegal, "a")
	equal(w, "count", must(w.Bucket(w.ctx, bucketName))(w).Holds, 3)
	q, seen := ledger.HoldQuery{Limit: 1}, ""
	for {
		list := must(w.Holds(w.ctx, q))(w)
		if len(list) == 0 {
			break
		}
		q.After = list[0]
		seen += fmt.Sprintf("%s %s %s;", list[0].Bucket, list[0].Scope, list[0].Key)
	}
	equal(w, "pages", seen, "bucket object a;bucket prefix p;bucket legal a;other prefix ;")
}

func noHold(w *world) {
	w.unchanged(func() {
		w.fails(refused(w.AddHold(w.ctx, ledger.Hold{Bucket: "nowhere", Scope: ledger.HoldObject, Key: "a"})), lethe.ErrNoSuchBucket)
		w.fails(refused(w.AddHold(w.ctx, ledger.Hold{Bucket: bucketName, Scope: ledger.HoldObject})), lethe.ErrInvalidKey)
		w.broken(refused(w.AddHold(w.ctx, ledger.Hold{Bucket: bucketName, Key: "a"})))
		w.fails(w.ReleaseHold(w.ctx, ledger.Hold{Bucket: bucketName, Scope: ledger.HoldObject, Key: "a"}), ledger.ErrNoSuchHold)
	})
}
