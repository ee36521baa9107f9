package ledgertest

import (
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
	"github.com/lethe-storage/lethe/receipt"
)

func readTests() []test {
	return []test{
		{name: "counted to the last", run: readsCounted},
		{name: "not counted", run: readsUncounted},
		{name: "an end before the last read", run: readsTTL},
		{name: "numbers that are refused", run: readsRefused},
		{name: "a version that was replaced", run: readsReplaced},
		{name: "shared contents", run: readsShared},
		{name: "no undo window", run: readsNoUndo},
		{name: "written over after the last read", run: readsWrittenOver},
		{name: "held", run: readsHeld},
		{name: "of an upload in parts", run: readsUpload},
		{name: "of bytes in the ledger", run: readsInline},
		{name: "due by a rule", run: readsRuled},
		{name: "readers at once", run: readsAtOnce},
	}
}

// putCounted writes an object that can be read n times.
func (w *world) putCounted(key, body string, n int64) ledger.Object {
	w.Helper()
	c := w.written(key, body)
	c.Object.ReadsLeft = n
	return w.commit(c).Object
}

// countRead takes a read, after which so many are left.
func (w *world) countRead(o ledger.Object, left int64) ledger.Object {
	w.Helper()
	read := must(w.CountRead(w.ctx, o))(w)
	equal(w, "reads left", read.ReadsLeft, left)
	return read
}

// unread checks that a read cannot be taken.
func (w *world) unread(o ledger.Object) {
	w.Helper()
	w.unchanged(func() { w.fails(refused(w.CountRead(w.ctx, o)), lethe.ErrNoSuchKey) })
}

func readsCounted(w *world) {
	o := w.putCounted("k", "body", 2)
	id := w.onlyBlob("k").ID
	equal(w, "reads left", o.ReadsLeft, int64(2))
	w.countRead(o, 1)
	equal(w, "reads left", w.get("k").Object.ReadsLeft, int64(1))
	equal(w, "scheduled", must(w.ExpireBacklog(w.ctx))(w), ledger.Backlog{})
	w.later(time.Minute)
	last := w.now()
	equal(w, "end", w.countRead(o, ledger.AllRead).TTLAt, last)
	w.absent("k")
	equal(w, "listed", len(must(w.List(w.ctx, ledger.ListQuery{Bucket: bucketName, Limit: 9}))(w).Objects), 0)
	w.unread(o)
	equal(w, "existed", w.remove("k").Items[0].Existed, false)
	w.later(time.Hour)
	w.unread(o)
	equal(w, "foreseen", w.foreseen(w.dueObjects, w.now(), 1), fmt.Sprintf("k by read %s", last))
	r := w.expire()
	equal(w, "expired", fmt.Sprint(r.Objects, r.ReadObjects, r.ReadBytes), "1 1 4")
	w.condemned(id, lethe.ReasonRead, w.now().Add(readGrace))
	equal(w, "died", w.row(id).DiedAt, last)
	w.told("k", receipt.Receipt{Reason: lethe.ReasonRead, Size: 4, Version: o.ID, Due: receipt.Instant(last)})
	w.unread(o)
}

func readsUncounted(w *world) {
	o := w.put("k", "body")
	w.unread(o)
	w.unread(ledger.Object{Bucket: bucketName, BucketID: o.BucketID, Key: "absent", ID: o.ID})
	w.unread(ledger.Object{Bucket: "nobody's", BucketID: w.id(), Key: "k", ID: o.ID})
}

func readsTTL(w *world) {
	c := w.written("k", "body")
	c.Object.ReadsLeft, c.TTL = 3, time.Hour
	o := w.commit(c).Object
	w.later(time.Hour - time.Microsecond)
	equal(w, "end", w.countRead(o, 2).TTLAt, o.TTLAt)
	equal(w, "foreseen", w.foreseen(w.dueObjects, o.TTLAt, 1), fmt.Sprintf("k by ttl %s", o.TTLAt))
	w.later(time.Microsecond)
	w.unread(o)
	equal(w, "ended by reads", w.expire().ReadObjects, 0)
	w.told("k", receipt.Receipt{Reason: lethe.ReasonExpiry, Size: 4, Version: o.ID, Due: receipt.Instant(o.TTLAt)})
}

func readsRefused(w *world) {
	for _, n := range []int64{-1, lethe.MaxReads + 1, 1 << 40} {
		c := w.written("k", fmt.Sprint("body", n))
		c.Object.ReadsLeft = n
		w.fails(refused(w.Commit(w.ctx, c)), lethe.ErrInvalidReads)
		w.fails(refused(w.CreateUpload(w.ctx, ledger.Upload{Bucket: bucketName, Key: "k", Reads: n})), lethe.ErrInvalidReads)
	}
	w.absent("k")
	w.putCounted("k", "body", lethe.MaxReads)
}

func readsReplaced(w *world) {
	old := w.putCounted("k", "body", 1)
	o := w.putCounted("k", "body", 1)
	w.unread(old)
	w.countRead(o, ledger.AllRead)
	w.remove("k")
	w.unread(o)
}

// readsShared: the last read ends its object, and no other with the same bytes.
func readsShared(w *world) {
	o := w.putCounted("k", "body", 1)
	w.put("other", "body")
	w.countRead(o, ledger.AllRead)
	w.later(time.Hour)
	equal(w, "blobs", w.expire().Blobs, 0)
	w.get("other")
}

// readsNoUndo: what can be read a number of times is not kept beside that.
func readsNoUndo(w *world) {
	w.undo()
	w.putCounted("deleted", "one", 1)
	w.put("kept", "two")
	replaced := w.putCounted("replaced", "three", 5)
	w.countRead(replaced, 4)
	w.put("replaced", "four")
	equal(w, "dropped", len(w.remove("deleted", "kept").Dropped), 1)
	read := w.putCounted("read", "five", 1)
	w.countRead(read, ledger.AllRead)
	w.later(time.Second)
	w.expire()
	var keys []string
	for _, e := range w.bin() {
		keys = append(keys, e.Object.Key)
	}
	equal(w, "trash", fmt.Sprint(keys), "[kept]")
}

func readsWrittenOver(w *world) {
	w.undo()
	o := w.putCounted("k", "body", 1)
	id, last := w.onlyBlob("k").ID, w.now()
	w.countRead(o, ledger.AllRead)
	w.later(time.Minute)
	next := w.commit(w.written("k", "other"))
	equal(w, "replaced", next.Replaced, false)
	w.condemned(id, lethe.ReasonRead, w.now().Add(readGrace))
	w.told("k", receipt.Receipt{Reason: lethe.ReasonRead, Size: 4, Version: o.ID, Due: receipt.Instant(last), Op: next.Object.ID})
}

// readsHeld: a hold keeps the row and its bytes, and nothing makes them readable again.
func readsHeld(w *world) {
	o := w.putCounted("k", "body", 1)
	h := w.hold(ledger.HoldObject, "k")
	w.countRead(o, ledger.AllRead)
	w.later(time.Minute)
	equal(w, "deferred", w.expire().Deferred, 1)
	w.absent("k")
	_, err := w.Update(w.ctx, ledger.Update{Op: w.id(), Bucket: bucketName, Key: "k", TTL: &ledger.TTLChange{TTL: time.Hour}})
	w.fails(err, lethe.ErrNoSuchKey)
	w.unread(o)
	w.release(h)
	equal(w, "returned", w.returnAll(9), 1)
	equal(w, "expired", w.expire().Objects, 1)
}

func readsUpload(w *world) {
	u := must(w.CreateUpload(w.ctx, ledger.Upload{Bucket: bucketName, Key: "k", Reads: 2}))(w)
	equal(w, "reads", must(w.Upload(w.ctx, bucketName, "k", u.ID))(w).Reads, int64(2))
	o := w.finish(u, "parts", w.part(u, 1, "one")).Object
	w.countRead(o, 1)
	w.countRead(o, ledger.AllRead)
	w.absent("k")
}

func readsInline(w *world) {
	c := w.inline("k", "body")
	c.Object.ReadsLeft = 1
	o := w.commit(c).Object
	w.reads("k", "body")
	w.countRead(o, ledger.AllRead)
	w.absent("k")
	w.inLedger(1, 4)
	equal(w, "expired", w.expire().ReadObjects, 1)
	w.inLedger(0, 0)
}

// readsRuled: what a rule has ended is there until it goes, and can be read to the last.
func readsRuled(w *world) {
	w.rules(lifecycle.Rule{ID: "r", Days: 1})
	o := w.putCounted("k", "body", 2)
	w.later(72 * time.Hour)
	w.hold(ledger.HoldObject, "k")
	equal(w, "deferred", w.expire().Deferred, 1)
	w.countRead(o, 1)
	w.sound()
	w.countRead(o, ledger.AllRead)
	w.sound()
	w.absent("k")
}

// readsAtOnce: of readers that meet at the last read exactly one has it.
func readsAtOnce(w *world) {
	for i := range rounds {
		o := w.putCounted(fmt.Sprint("k", i), "body", 1)
		read := func() error { return refused(w.CountRead(w.ctx, o)) }
		errs := both(read, read)
		won, lost := errs[0], errs[1]
		if won != nil {
			won, lost = lost, won
		}
		if won != nil || !errors.Is(lost, lethe.ErrNoSuchKey) {
			w.Fatalf("readers got %v and %v", errs[0], errs[1])
		}
	}
}
