package ledgertest

import (
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
	"github.com/lethe-storage/lethe/receipt"
)

func idleTests() []test {
	return []test{
		{name: "the instant", run: idleInstant},
		{name: "notes of reads", run: idleNoted},
		{name: "notes that change nothing", run: idleUnmoved},
		{name: "a note that arrives late", run: idleLate},
		{name: "deleted after its end", run: idleDeleted},
		{name: "its bucket deleted after its end", run: idleBucketDeleted},
		{name: "over by both ends", run: idleOver},
		{name: "by bucket and wish", run: idleTable},
		{name: "the earlier of two ends", run: idleAndTTL},
		{name: "due by a rule", run: idleRuled},
		{name: "held", run: idleHeld},
		{name: "written over after its end", run: idleWrittenOver},
		{name: "in the trash", run: idleTrash},
		{name: "of an upload in parts", run: idleUpload},
		{name: "update", run: idleUpdate},
		{name: "reads that are counted", run: idleCounted},
		{name: "limits", run: idleLimited},
		{name: "a note and the end at once", run: idleAtOnce},
	}
}

// idle is the idle time of the tests, and idleEnd the end of what is used now.
const idle = 10 * time.Hour

func (w *world) idleEnd() lethe.Time { return w.now().Add(idle + idle/10 + ledger.IdleMargin) }

// putIdle writes an object that ends once it was not read for the idle time.
func (w *world) putIdle(key, body string) ledger.Object {
	w.Helper()
	c := w.written(key, body)
	c.Object.IdleFor = idle
	return w.commit(c).Object
}

// note notes a read of a version so long ago.
func (w *world) note(o ledger.Object, ago time.Duration) bool {
	w.Helper()
	n := must(w.NoteReads(w.ctx, []ledger.Read{{Bucket: o.BucketID, Key: o.Key, ID: o.ID, At: w.now().Add(-ago)}}, false))(w)
	return n == 1
}

func idleInstant(w *world) {
	o := w.putIdle("k", "body")
	id, end := w.onlyBlob("k").ID, w.idleEnd()
	equal(w, "object", fmt.Sprint(o.IdleFor, o.IdleAt, o.UsedAt), fmt.Sprint(idle, end, w.now()))
	equal(w, "read", plain(w.get("k").Object), plain(o))
	equal(w, "scheduled", must(w.ExpireBacklog(w.ctx))(w), ledger.Backlog{NextDue: end.Add(ledger.IdleGrace), Scheduled: 1})
	equal(w, "foreseen", w.foreseen(w.dueObjects, end.Add(ledger.IdleGrace), 1), fmt.Sprintf("k by idle %s", end.Add(ledger.IdleGrace)))
	w.later(end.Sub(w.now()) - time.Microsecond)
	w.get("k")
	w.later(time.Microsecond)
	w.absent("k")
	equal(w, "listed", len(must(w.List(w.ctx, ledger.ListQuery{Bucket: bucketName, Limit: 9}))(w).Objects), 0)
	equal(w, "existed", w.remove("k").Items[0].Existed, false)
	w.later(ledger.IdleGrace - time.Microsecond)
	equal(w, "expired", w.expire().Objects, 0)
	w.later(time.Microsecond)
	r := w.expire()
	equal(w, "expired", fmt.Sprint(r.Objects, r.IdleObjects, r.IdleBytes, r.ReadObjects), "1 1 4 0")
	w.condemned(id, lethe.ReasonIdle, w.now().Add(readGrace))
	w.told("k", receipt.Receipt{Reason: lethe.ReasonIdle, Size: 4, Version: o.ID, Due: receipt.Instant(w.now())})
}

// idleNoted: a read is noted where it moves the end by more than a tenth of the idle time.
func idleNoted(w *world) {
	a, b, plainly := w.putIdle("a", "body"), w.putIdle("b", "body"), w.put("c", "body")
	w.later(idle / 10)
	equal(w, "noted within a tenth", w.note(a, 0), false)
	w.later(time.Microsecond)
	end := w.idleEnd()
	reads := []ledger.Read{}
	for _, o := range []ledger.Object{a, b, plainly} {
		reads = append(reads, ledger.Read{Bucket: o.BucketID, Key: o.Key, ID: o.ID, At: w.now()})
	}
	equal(w, "noted", must(w.NoteReads(w.ctx, reads, false))(w), 2)
	for _, key := range []string{"a", "b"} {
		o := w.get(key).Object
		equal(w, key, fmt.Sprint(o.IdleAt, o.UsedAt), fmt.Sprint(end, w.now()))
	}
	equal(w, "not idle", plain(w.get("c").Object), plain(plainly))
	equal(w, "due", must(w.ExpireBacklog(w.ctx))(w).NextDue, end.Add(ledger.IdleGrace))
	w.sound()
	w.later(end.Sub(w.now()) + ledger.IdleGrace)
	equal(w, "expired", w.expire().IdleObjects, 2)
	equal(w, "noted when gone", w.note(a, idle), false)
}

func idleUnmoved(w *world) {
	old := w.putIdle("k", "old")
	w.later(idle / 2)
	o := w.putIdle("k", "new")
	w.later(idle / 2)
	w.unchanged(func() {
		equal(w, "another version", w.note(old, 0), false)
		equal(w, "an older read", w.note(o, idle/2), false)
		equal(w, "another bucket", w.note(ledger.Object{BucketID: w.id(), Key: "k", ID: o.ID}, 0), false)
		equal(w, "another key", w.note(ledger.Object{BucketID: o.BucketID, Key: "absent", ID: o.ID}, 0), false)
		equal(w, "none", must(w.NoteReads(w.ctx, nil, false))(w), 0)
	})
	equal(w, "a read that is to come", w.note(o, -time.Hour), true)
	equal(w, "end", w.get("k").Object.IdleAt, w.idleEnd())
	w.later(idle)
	w.unchanged(func() { equal(w, "a read before the last one", w.note(o, idle+time.Minute), false) })
}

// idleLate: the note of a read that was before the end counts until the object is removed, and
// one of a read after it does not.
func idleLate(w *world) {
	o := w.putIdle("k", "body")
	w.later(w.idleEnd().Sub(w.now()) + ledger.IdleGrace - time.Microsecond)
	w.unchanged(func() { equal(w, "read after the end", w.note(o, ledger.IdleGrace-time.Microsecond), false) })
	w.absent("k")
	equal(w, "read before the end", w.note(o, ledger.IdleGrace), true)
	w.later(time.Second)
	equal(w, "expired", w.expire().Objects, 0)
	w.get("k")
}

// idleDeleted: what a client was told is deleted does not come back by a note that arrives late.
func idleDeleted(w *world) {
	o := w.putIdle("k", "body")
	w.later(w.idleEnd().Sub(w.now()) + time.Second)
	equal(w, "existed", w.remove("k").Items[0].Existed, false)
	equal(w, "noted", w.note(o, 2*time.Second), false)
	w.absent("k")
	w.later(ledger.IdleGrace)
	equal(w, "expired", w.expire().IdleObjects, 1)
}

func idleTable(w *world) {
	const none = -1
	for _, c := range []struct {
		name                        string
		byDefault, max, asked, want time.Duration // want none: refused
	}{
		{"no wish", 0, 0, 0, 0},
		{"default", time.Hour, 0, 0, time.Hour},
		{"default beyond the longest", 2 * time.Hour, time.Hour, 0, time.Hour},
		{"longest without a default", 0, time.Hour, 0, time.Hour},
		{"asked", time.Hour, 0, time.Minute, time.Minute},
		{"as long as allowed", 0, time.Hour, time.Hour, time.Hour},
		{"too long", 0, time.Hour, time.Hour + time.Microsecond, none},
		{"too short", 0, 0, time.Minute - time.Microsecond, none},
		{"negative", 0, 0, -time.Hour, none},
	} {
		w.Log(c.name)
		w.configure(ledger.BucketSettings{DefaultIdle: c.byDefault, MaxIdle: c.max})
		put := w.reference("k", "")
		put.Object.IdleFor = c.asked
		u := ledger.Upload{Bucket: bucketName, Key: "u", Idle: c.asked}
		if c.want == none {
			w.unchanged(func() {
				w.fails(refused(w.Commit(w.ctx, put)), lethe.ErrInvalidTTL)
				w.fails(refused(w.CreateUpload(w.ctx, u)), lethe.ErrInvalidTTL)
			})
			continue
		}
		equal(w, "idle time", w.commit(put).Object.IdleFor, c.want)
		equal(w, "idle time", w.get("k").Object.IdleFor, c.want)
	}
	for _, s := range []ledger.BucketSettings{{DefaultIdle: time.Second}, {MaxIdle: time.Second}} {
		w.fails(refused(w.ConfigureBucket(w.ctx, bucketName, s, nil)), lethe.ErrInvalidTTL)
	}
}

// idleAndTTL: of both ends the earlier one counts, and a read moves only its own.
func idleAndTTL(w *world) {
	put := func(key string, ttl time.Duration) ledger.Object {
		c := w.written(key, key)
		c.Object.IdleFor, c.TTL = idle, ttl
		return w.commit(c).Object
	}
	late, soon := put("late", 3*idle), put("soon", idle)
	by := w.idleEnd().Add(ledger.IdleGrace)
	equal(w, "foreseen", w.foreseen(w.dueObjects, by, 9), fmt.Sprintf("late by idle %s; soon by ttl %s", by, soon.TTLAt))
	w.later(idle / 2)
	equal(w, "noted", w.note(soon, 0), true)
	equal(w, "end", w.get("soon").Object.TTLAt, soon.TTLAt)
	w.later(by.Sub(w.now()))
	r := w.expire()
	equal(w, "expired", fmt.Sprint(r.Objects, r.IdleObjects), "2 1")
	w.told("soon", receipt.Receipt{Reason: lethe.ReasonExpiry, Size: 4, Version: soon.ID, Due: receipt.Instant(soon.TTLAt)})
	w.told("late", receipt.Receipt{Reason: lethe.ReasonIdle, Size: 4, Version: late.ID, Due: receipt.Instant(by)})
}

// idleRuled: a read does not move the end by a rule, nor does a rule that is reapplied forget
// what was read.
func idleRuled(w *world) {
	w.rules(lifecycle.Rule{ID: "r", Days: 1})
	o := w.putIdle("k", "body")
	w.later(idle / 2)
	equal(w, "noted", w.note(o, 0), true)
	end := w.get("k").Object.IdleAt
	equal(w, "due", must(w.ExpireBacklog(w.ctx))(w).NextDue, min(end.Add(ledger.IdleGrace), w.get("k").Object.RuleAt))
	w.rules(lifecycle.Rule{ID: "r", Days: 9})
	w.reapply(9)
	equal(w, "due", must(w.ExpireBacklog(w.ctx))(w).NextDue, end.Add(ledger.IdleGrace))
	w.rules()
	w.reapply(9)
	w.later(end.Sub(w.now()) + ledger.IdleGrace)
	equal(w, "expired", w.expire().IdleObjects, 1)
}

// idleHeld: a held object is deferred once it is due. The note of a read in its time brings it
// back, and a release lets it go.
func idleHeld(w *world) {
	o := w.putIdle("k", "body")
	end, h := w.idleEnd(), w.hold(ledger.HoldObject, "k")
	w.later(end.Sub(w.now()) + ledger.IdleGrace)
	equal(w, "deferred", w.expire().Deferred, 1)
	w.absent("k")
	w.sound()
	equal(w, "noted", w.note(o, ledger.IdleGrace+time.Hour), true)
	w.get("k")
	w.sound()
	w.later(idle + idle/10)
	equal(w, "deferred", w.expire().Deferred, 1)
	w.sound()
	w.release(h)
	equal(w, "returned", w.returnAll(9), 1)
	w.sound()
	equal(w, "expired", w.expire().IdleObjects, 1)
}

func idleWrittenOver(w *world) {
	w.undo()
	o := w.putIdle("k", "body")
	id, end := w.onlyBlob("k").ID, w.idleEnd()
	w.later(end.Sub(w.now()) + time.Second)
	next := w.commit(w.written("k", "other"))
	equal(w, "replaced", next.Replaced, false)
	w.condemned(id, lethe.ReasonIdle, w.now().Add(readGrace))
	w.told("k", receipt.Receipt{Reason: lethe.ReasonIdle, Size: 4, Version: o.ID, Due: receipt.Instant(end), Op: next.Object.ID})
	w.unchanged(func() { equal(w, "noted", w.note(o, time.Minute), false) })
}

// idleTrash: the trash keeps an object no longer than it would have been there, and what is
// restored counts from then.
func idleTrash(w *world) {
	w.configure(ledger.BucketSettings{Undo: 30 * 24 * time.Hour})
	w.putIdle("k", "body")
	w.putIdle("replaced", "body")
	end := w.idleEnd()
	w.later(time.Hour)
	w.remove("k")
	w.put("replaced", "other")
	for _, e := range w.bin() {
		equal(w, "purged", fmt.Sprint(e.PurgeAt, e.Object.IdleFor, e.Object.IdleAt), fmt.Sprint(end, idle, lethe.Time(0)))
	}
	w.later(time.Hour)
	for _, e := range w.bin() {
		o := must(w.Restore(w.ctx, w.id(), e.ID, true))(w)
		equal(w, "restored", fmt.Sprint(o.IdleFor, o.IdleAt, o.UsedAt), fmt.Sprint(idle, w.idleEnd(), w.now()))
	}
	w.sound()
}

func idleUpload(w *world) {
	u := must(w.CreateUpload(w.ctx, ledger.Upload{Bucket: bucketName, Key: "k", Idle: idle}))(w)
	equal(w, "idle time", must(w.Upload(w.ctx, bucketName, "k", u.ID))(w).Idle, idle)
	w.later(time.Hour)
	o := w.finish(u, "parts", w.part(u, 1, "one")).Object
	equal(w, "end", o.IdleAt, w.idleEnd())
}

func idleUpdate(w *world) {
	w.put("k", "body")
	change := func(d time.Duration) (ledger.Object, error) {
		return w.Update(w.ctx, ledger.Update{Op: w.id(), Bucket: bucketName, Key: "k", Idle: &ledger.IdleChange{Idle: d}})
	}
	equal(w, "end", must(change(idle))(w).IdleAt, w.idleEnd())
	w.later(time.Hour)
	equal(w, "end", must(change(idle))(w).IdleAt, w.idleEnd())
	equal(w, "due", must(w.ExpireBacklog(w.ctx))(w).NextDue, w.idleEnd().Add(ledger.IdleGrace))
	h := w.hold(ledger.HoldObject, "k")
	w.unchanged(func() { w.fails(refused(change(idle/2)), lethe.ErrHeld) })
	w.release(h)
	w.unchanged(func() { w.fails(refused(change(time.Second)), lethe.ErrInvalidTTL) })
	o := must(change(0))(w)
	equal(w, "no end", fmt.Sprint(o.IdleFor, o.IdleAt, o.UsedAt), fmt.Sprint(time.Duration(0), lethe.Time(0), lethe.Time(0)))
	equal(w, "due", must(w.ExpireBacklog(w.ctx))(w), ledger.Backlog{})
	w.configure(ledger.BucketSettings{MaxIdle: idle})
	w.unchanged(func() { w.fails(refused(change(idle+time.Microsecond)), lethe.ErrInvalidTTL) })
	equal(w, "longest", must(change(0))(w).IdleFor, idle)
}

func idleCounted(w *world) {
	c := w.written("k", "body")
	c.Object.IdleFor, c.Object.ReadsLeft = idle, 2
	o := w.commit(c).Object
	w.countRead(o, 1)
	w.countRead(o, ledger.AllRead)
	w.unchanged(func() { equal(w, "noted", w.note(o, 0), false) })
	equal(w, "expired", w.expire().ReadObjects, 1)
	again := w.written("k", "other")
	again.Object.IdleFor, again.Object.ReadsLeft = idle, 1
	o = w.commit(again).Object
	w.later(o.IdleAt.Sub(w.now()))
	w.unread(o)
}

// idleLimited: what ends by idleness counts against the limit of times to live.
func idleLimited(w *world) {
	for i := range 3 {
		w.putIdle(fmt.Sprint("k", i), "body")
	}
	w.later(w.idleEnd().Sub(w.now()) + ledger.IdleGrace)
	l := ledger.Limits{TTL: ledger.Limit{Ask: 2}}
	equal(w, "tripped", len(must(w.PrecheckLimits(w.ctx, l))(w)), 1)
	equal(w, "expired", must(w.Expire(w.ctx, ledger.Batch{Limits: l}))(w).Objects, 0)
}

// idleAtOnce: of a note and a pass that meet once an object is due one comes first, and both
// know.
func idleAtOnce(w *world) {
	for i := range rounds {
		key, noted, gone := fmt.Sprint("k", i), false, false
		o := w.putIdle(key, "body")
		w.later(o.IdleAt.Sub(w.now()) + ledger.IdleGrace)
		errs := both(func() (err error) {
			var n int
			n, err = w.NoteReads(w.ctx, []ledger.Read{{Bucket: o.BucketID, Key: key, ID: o.ID, At: o.IdleAt - 1}}, false)
			noted = n == 1
			return err
		}, func() error {
			r, err := w.Expire(w.ctx, ledger.Batch{})
			gone = r.Objects == 1
			return err
		})
		if errs[0] != nil || errs[1] != nil || noted == gone {
			w.Fatalf("noted %v, gone %v: %v, %v", noted, gone, errs[0], errs[1])
		}
		w.remove(key)
	}
}

// idleBucketDeleted: no note that arrives later keeps an object of a bucket that is deleted.
func idleBucketDeleted(w *world) {
	o := w.putIdle("k", "body")
	w.later(w.idleEnd().Sub(w.now()) + time.Second)
	w.ok(w.DeleteBucket(w.ctx, bucketName, ""))
	equal(w, "read before the end", w.note(o, time.Minute), false)
	w.later(ledger.IdleGrace)
	equal(w, "expired", w.expire().Objects, 1)
}

// idleOver: an object that a hold keeps beyond both of its ends needs both moved.
func idleOver(w *world) {
	c := w.written("k", "body")
	c.TTL, c.Object.IdleFor = idle, idle
	w.commit(c)
	must(w.AddHold(w.ctx, ledger.Hold{Bucket: bucketName, Key: "k", Scope: ledger.HoldObject}))(w)
	w.later(3 * idle)
	ttl, longer := &ledger.TTLChange{TTL: idle}, &ledger.IdleChange{Idle: idle}
	for _, u := range []ledger.Update{{TTL: ttl}, {Idle: longer}} {
		u.Op, u.Bucket, u.Key = w.id(), bucketName, "k"
		w.unchanged(func() {
			w.fails(refused(w.Update(w.ctx, u)), lethe.ErrInvalidTTL)
		})
	}
	must(w.Update(w.ctx, ledger.Update{Op: w.id(), Bucket: bucketName, Key: "k", TTL: ttl, Idle: longer}))(w)
	w.get("k")
}
