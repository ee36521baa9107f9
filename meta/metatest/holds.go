package metatest

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/lifecycle"
	"github.com/lethe-storage/lethe/meta"
)

func holdTests() []test {
	return []test{
		{name: "what is held is not deleted, replaced or changed", run: heldStays},
		{name: "each scope covers what it says", run: scopesCover},
		{name: "what is held does not expire, leaves the due index, and goes when it is let go", run: heldExpires},
		{name: "what was deleted before is not purged", run: heldTrash},
		{name: "a held object past its time is seen again with a new one", run: heldRevives},
		{name: "two holds are lifted one by one", run: twoHolds},
		{name: "letting go resumes where it ended", run: unparkResumes},
		{name: "a bucket with holds is not deleted", run: heldBucket},
		{name: "what was parked and is gone does not keep a deleted bucket", run: staleParked},
		{name: "a deleted bucket keeps what is parked until it is let go", run: parkedBucket},
		{name: "holds are listed by pages", run: holdPages},
		{name: "what can be no hold", run: noHold},
	}
}

func (w *world) hold(scope meta.HoldScope, key string) meta.Hold {
	w.Helper()
	return must(w.AddHold(w.ctx, meta.Hold{Bucket: bucketName, Scope: scope, Key: key, Reason: "audit", By: "me"}))(w)
}

func (w *world) lift(h meta.Hold) {
	w.Helper()
	w.ok(w.LiftHold(w.ctx, h))
}

// unparkAll lets go all that was lifted, and answers how many rows returned.
func (w *world) unparkAll(limit int) (returned int) {
	w.Helper()
	for {
		u := must(w.Unpark(w.ctx, limit))(w)
		if returned += u.Returned; !u.More {
			return returned
		}
	}
}

func heldStays(w *world) {
	w.put("a", "body")
	w.hold(meta.HoldObject, "a")
	w.unchanged(func() {
		d := w.remove("a", "b")
		w.fails(d.Items[0].Err, lethe.ErrHeld)
		w.ok(d.Items[1].Err)
		w.fails(refused(w.Commit(w.ctx, w.reference("a", ""))), lethe.ErrHeld)
		w.fails(refused(w.Update(w.ctx, meta.Update{Op: w.id(), Bucket: bucketName, Key: "a", Attrs: &meta.Attrs{ContentType: "x"}})), lethe.ErrHeld)
		w.fails(refused(w.Update(w.ctx, meta.Update{Op: w.id(), Bucket: bucketName, Key: "a", TTL: &meta.TTLChange{TTL: time.Hour}})), lethe.ErrHeld)
	})
	tags := map[string]string{"a": "b"}
	must(w.Update(w.ctx, meta.Update{Op: w.id(), Bucket: bucketName, Key: "a", Tags: &tags}))(w)
	w.put("b", "another")
}

func scopesCover(w *world) {
	for _, c := range []struct {
		scope     meta.HoldScope
		key       string
		held, not string
	}{
		{meta.HoldObject, "a/b", "a/b", "a/bc"},
		{meta.HoldLegal, "a/b", "a/b", "a"},
		{meta.HoldPrefix, "a/", "a/b", "ab"},
		{meta.HoldPrefix, "ä%_", "ä%_x", "äaab"},
	} {
		w.put(c.held, "body")
		w.put(c.not, "body")
		h := w.hold(c.scope, c.key)
		w.fails(w.remove(c.held).Items[0].Err, lethe.ErrHeld)
		w.ok(w.remove(c.not).Items[0].Err)
		equal(w, "holds on it", len(must(w.HoldsOn(w.ctx, bucketName, c.held))(w)), 1)
		equal(w, "holds on the other", len(must(w.HoldsOn(w.ctx, bucketName, c.not))(w)), 0)
		w.lift(h)
		w.ok(w.remove(c.held).Items[0].Err)
	}
	w.hold(meta.HoldPrefix, "")
	w.put("anything", "body")
	w.fails(w.remove("anything").Items[0].Err, lethe.ErrHeld)
}

func heldExpires(w *world) {
	w.putTTL("a", "body", time.Minute)
	w.putTTL("b", "other", time.Minute)
	blob := w.onlyBlob("a").ID
	h := w.hold(meta.HoldObject, "a")
	w.later(time.Minute)
	r := must(w.Expire(w.ctx, meta.Batch{Limit: 10}))(w)
	equal(w, "expired", r.Objects, 1)
	equal(w, "parked", r.Parked, 1)
	equal(w, "due", must(w.ExpireBacklog(w.ctx))(w).Count, 0)
	equal(w, "parked again", must(w.Expire(w.ctx, meta.Batch{Limit: 10}))(w).Parked, 0)
	w.fails(refused(w.Commit(w.ctx, w.reference("a", ""))), lethe.ErrHeld)
	w.in(blob, lethe.Live)
	w.lift(h)
	equal(w, "returned", w.unparkAll(10), 1)
	equal(w, "expired later", must(w.Expire(w.ctx, meta.Batch{}))(w).Objects, 1)
	w.in(blob, lethe.Condemned)
}

func heldTrash(w *world) {
	w.configure(meta.BucketSettings{Undo: time.Hour})
	w.put("a", "body")
	blob := w.onlyBlob("a").ID
	w.remove("a")
	h := w.hold(meta.HoldPrefix, "a")
	w.later(time.Hour)
	r := must(w.Purge(w.ctx, meta.Batch{Limit: 10}))(w)
	equal(w, "purged", r.Objects, 0)
	equal(w, "parked", r.Parked, 1)
	equal(w, "due", must(w.PurgeBacklog(w.ctx))(w).Count, 0)
	entries := must(w.Trash(w.ctx, meta.TrashQuery{}))(w)
	equal(w, "made due", must(w.PurgeTrash(w.ctx, []lethe.ID{entries[0].ID}))(w), 1)
	equal(w, "purged at once", must(w.Purge(w.ctx, meta.Batch{}))(w).Objects, 0)
	w.in(blob, lethe.Live)
	w.lift(h)
	equal(w, "returned", w.unparkAll(0), 1)
	equal(w, "purged later", must(w.Purge(w.ctx, meta.Batch{}))(w).Objects, 1)
	w.in(blob, lethe.Condemned)
}

func heldRevives(w *world) {
	w.putTTL("a", "body", time.Minute)
	w.hold(meta.HoldObject, "a")
	w.later(time.Minute)
	must(w.Expire(w.ctx, meta.Batch{}))(w)
	w.absent("a")
	w.fails(refused(w.Update(w.ctx, meta.Update{Op: w.id(), Bucket: bucketName, Key: "a", Tags: &map[string]string{}})), lethe.ErrNoSuchKey)
	must(w.Update(w.ctx, meta.Update{Op: w.id(), Bucket: bucketName, Key: "a", TTL: &meta.TTLChange{TTL: time.Hour}}))(w)
	w.get("a")
}

func twoHolds(w *world) {
	w.putTTL("a/b", "body", time.Minute)
	one, two := w.hold(meta.HoldObject, "a/b"), w.hold(meta.HoldPrefix, "a/")
	w.later(time.Minute)
	equal(w, "parked", must(w.Expire(w.ctx, meta.Batch{}))(w).Parked, 1)
	w.lift(one)
	equal(w, "returned", w.unparkAll(1), 0)
	w.lift(two)
	equal(w, "returned", w.unparkAll(1), 1)
	equal(w, "expired", must(w.Expire(w.ctx, meta.Batch{}))(w).Objects, 1)
}

func unparkResumes(w *world) {
	for i := range 5 {
		w.putTTL(fmt.Sprint("k", i), fmt.Sprint("body", i), time.Minute)
	}
	h := w.hold(meta.HoldPrefix, "k")
	w.later(time.Minute)
	equal(w, "parked", must(w.Expire(w.ctx, meta.Batch{}))(w).Parked, 5)
	w.lift(h)
	u := must(w.Unpark(w.ctx, 2))(w)
	equal(w, "first step", u, meta.Unparked{Seen: 2, Returned: 2, More: true})
	again := w.hold(meta.HoldObject, "k4")
	equal(w, "the rest", w.unparkAll(2), 2)
	equal(w, "expired", must(w.Expire(w.ctx, meta.Batch{}))(w).Objects, 4)
	w.lift(again)
	equal(w, "the last", w.unparkAll(2), 1)
}

func heldBucket(w *world) {
	h := w.hold(meta.HoldPrefix, "x")
	w.unchanged(func() { w.fails(w.DeleteBucket(w.ctx, bucketName), lethe.ErrHeld) })
	w.put("a", "body")
	w.fails(w.DeleteBucket(w.ctx, bucketName), lethe.ErrBucketNotEmpty)
	w.remove("a")
	w.lift(h)
	w.ok(w.DeleteBucket(w.ctx, bucketName))
}

func parkedBucket(w *world) {
	w.configure(meta.BucketSettings{Undo: time.Hour})
	w.put("a", "body")
	blob := w.onlyBlob("a").ID
	w.remove("a")
	h := w.hold(meta.HoldPrefix, "")
	w.later(time.Hour)
	equal(w, "parked", must(w.Purge(w.ctx, meta.Batch{}))(w).Parked, 1)
	w.lift(h)
	w.ok(w.DeleteBucket(w.ctx, bucketName))
	equal(w, "pruned early", must(w.Prune(w.ctx, 0))(w), 0)
	equal(w, "returned", w.unparkAll(0), 1)
	equal(w, "purged", must(w.Purge(w.ctx, meta.Batch{}))(w).Objects, 1)
	w.in(blob, lethe.Condemned)
	equal(w, "pruned", must(w.Prune(w.ctx, 0))(w), 1)
}

// staleParked: what was parked and is gone does not keep the bucket's row.
func staleParked(w *world) {
	w.putTTL("a", "body", time.Minute)
	w.later(time.Minute)
	equal(w, "parked", must(w.Expire(w.ctx, meta.Batch{Limit: 1, Limits: meta.Limits{TTL: meta.Limit{Share: 1}}}))(w).Parked, 1)
	w.put("a", "another")
	w.remove("a")
	w.ok(w.DeleteBucket(w.ctx, bucketName))
	equal(w, "returned", w.unparkAll(0), 0)
	equal(w, "pruned", must(w.Prune(w.ctx, 0))(w), 1)
}

func holdPages(w *world) {
	w.bucket("other", meta.BucketSettings{})
	must(w.AddHold(w.ctx, meta.Hold{Bucket: "other", Scope: meta.HoldPrefix}))(w)
	w.hold(meta.HoldPrefix, "p")
	first := w.hold(meta.HoldObject, "a")
	w.later(time.Minute)
	equal(w, "set again", w.hold(meta.HoldObject, "a"), first)
	w.hold(meta.HoldLegal, "a")
	equal(w, "count", must(w.Bucket(w.ctx, bucketName))(w).Holds, 3)
	q, seen := meta.HoldQuery{Limit: 1}, ""
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
		w.fails(refused(w.AddHold(w.ctx, meta.Hold{Bucket: "nowhere", Scope: meta.HoldObject, Key: "a"})), lethe.ErrNoSuchBucket)
		w.fails(refused(w.AddHold(w.ctx, meta.Hold{Bucket: bucketName, Scope: meta.HoldObject})), lethe.ErrInvalidKey)
		w.broken(refused(w.AddHold(w.ctx, meta.Hold{Bucket: bucketName, Key: "a"})))
		w.fails(w.LiftHold(w.ctx, meta.Hold{Bucket: bucketName, Scope: meta.HoldObject, Key: "a"}), meta.ErrNoSuchHold)
	})
}

func limitTests() []test {
	return []test{
		{name: "a rule that would end too many is stopped before the first", run: ruleStopped},
		{name: "no batch goes beyond a limit", run: countedExactly},
		{name: "an hour's limit ends with the hour", run: hourPasses},
		{name: "what is allowed is used up", run: allowanceEnds},
		{name: "looking ahead leaves an allowance to be used up", run: allowanceForeseen},
		{name: "looking ahead leaves what the hour has left", run: hourForeseen},
		{name: "a stop ends nothing but its kind and its bucket", run: othersGoOn},
		{name: "deletes and purges have limits", run: otherLimits},
		{name: "what may land late waits while the clock is in doubt", run: doubtWaits},
		{name: "a share is of what was there", run: shareOf},
		{name: "a hold is changed only as it was seen", run: seenHold},
	}
}

// manyDue writes n objects that are due in a minute.
func (w *world) manyDue(prefix string, n int) {
	w.Helper()
	for i := range n {
		w.putTTL(fmt.Sprintf("%s%03d", prefix, i), fmt.Sprint("body", i), time.Minute)
	}
}

func ruleStopped(w *world) {
	for i := range 10 {
		w.put(fmt.Sprint("k", i), fmt.Sprint("body", i))
	}
	for i := range 4 {
		w.put(fmt.Sprint("z", i), fmt.Sprint("body", i))
	}
	rules := lifecycle.Rules{{ID: "all", Prefix: "k", Days: 1}}
	must(w.SetRules(w.ctx, meta.RulesChange{Bucket: bucketName, Rules: rules, By: "operator"}))(w)
	must(w.Restamp(w.ctx, 0))(w)
	w.later(48 * time.Hour)
	limits := meta.Limits{Rules: meta.Limit{Share: 60}}
	stopped := must(w.Foresee(w.ctx, limits))(w)
	equal(w, "stopped", len(stopped), 1)
	equal(w, "for ever", stopped[0].HeldUntil, lethe.Forever)
	r := must(w.Expire(w.ctx, meta.Batch{Limit: 3, Limits: limits}))(w)
	equal(w, "expired", r.Objects, 0)
	for r.More {
		r = must(w.Expire(w.ctx, meta.Batch{Limit: 3, Limits: limits, After: r.LastDue}))(w)
	}
	equal(w, "due", must(w.ExpireBacklog(w.ctx))(w).Count, 0)
	equal(w, "objects", must(w.Bucket(w.ctx, bucketName))(w).Objects, 14)
	equal(w, "foreseen again", len(must(w.Foresee(w.ctx, limits))(w)), 0)
	w.ok(w.AllowGuard(w.ctx, meta.Allowance{Kind: meta.GuardRules, Subject: stopped[0].Subject, Until: w.now().Add(time.Hour), N: -1}))
	equal(w, "returned", w.unparkAll(4), 10)
	equal(w, "foreseen", len(must(w.Foresee(w.ctx, limits))(w)), 0)
	equal(w, "allowed", must(w.Expire(w.ctx, meta.Batch{Limits: limits}))(w).Objects, 10)
}

func countedExactly(w *world) {
	w.manyDue("k", 9)
	w.later(time.Minute)
	limits := meta.Limits{TTL: meta.Limit{Ask: 5}}
	total := 0
	b := meta.Batch{Limit: 2, Limits: limits}
	for {
		r := must(w.Expire(w.ctx, b))(w)
		total += r.Objects
		if b.After = r.LastDue; !r.More {
			break
		}
	}
	equal(w, "expired", total, 4) // two batches; the third would be beyond
	g := must(w.Guards(w.ctx))(w)
	equal(w, "guards", len(g), 1)
	equal(w, "counted", g[0].N, 4)
	equal(w, "held", g[0].Held(w.now()), true)
	equal(w, "name", g[0].Name, bucketName)
}

func hourPasses(w *world) {
	w.manyDue("k", 6)
	w.later(time.Minute)
	b := meta.Batch{Limit: 3, Limits: meta.Limits{TTL: meta.Limit{PerHour: 4}}}
	equal(w, "expired", must(w.Expire(w.ctx, b))(w).Objects, 3)
	r := must(w.Expire(w.ctx, b))(w)
	equal(w, "the rest of the hour", r.Objects, 1)
	equal(w, "parked", r.Parked, 2)
	equal(w, "stopped", len(r.Stopped), 1)
	equal(w, "returned early", w.unparkAll(0), 0)
	w.later(r.Stopped[0].HeldUntil.Sub(w.now()))
	equal(w, "returned", w.unparkAll(0), 2)
	b.Limits.TTL.PerHour = 1 // less than a batch
	equal(w, "expired later", must(w.Expire(w.ctx, b))(w).Objects, 1)
}

func allowanceEnds(w *world) {
	w.manyDue("k", 6)
	w.later(time.Minute)
	b := meta.Batch{Limit: 2, Limits: meta.Limits{TTL: meta.Limit{Ask: 1}}}
	r := must(w.Expire(w.ctx, b))(w)
	equal(w, "expired", r.Objects, 0)
	for r.More {
		r = must(w.Expire(w.ctx, b))(w)
	}
	g := must(w.Guards(w.ctx))(w)[0]
	w.ok(w.AllowGuard(w.ctx, meta.Allowance{Kind: g.Kind, Subject: g.Subject, Until: w.now().Add(time.Hour), N: 4}))
	equal(w, "returned", w.unparkAll(0), 6)
	total := 0
	for r = must(w.Expire(w.ctx, b))(w); ; r = must(w.Expire(w.ctx, b))(w) {
		if total += r.Objects; !r.More {
			break
		}
	}
	equal(w, "allowed", total, 4)
	g = must(w.Guards(w.ctx))(w)[0]
	if !strings.Contains(g.Reason, "used up") {
		w.Errorf("stopped for %q", g.Reason)
	}
}

func allowanceForeseen(w *world) {
	w.manyDue("k", 6)
	w.later(time.Minute)
	limits := meta.Limits{TTL: meta.Limit{Ask: 1}}
	stopped := must(w.Foresee(w.ctx, limits))(w)
	equal(w, "stopped", len(stopped), 1)
	b := meta.Batch{Limit: 2, Limits: limits}
	must(w.Expire(w.ctx, meta.Batch{Limits: limits}))(w)
	w.ok(w.AllowGuard(w.ctx, meta.Allowance{Kind: stopped[0].Kind, Subject: stopped[0].Subject, Until: w.now().Add(time.Hour), N: 4}))
	equal(w, "returned", w.unparkAll(0), 6)
	for range 2 {
		equal(w, "stopped while it is allowed", len(must(w.Foresee(w.ctx, limits))(w)), 0)
		equal(w, "expired", must(w.Expire(w.ctx, b))(w).Objects, 2)
	}
	stopped = must(w.Foresee(w.ctx, limits))(w)
	if len(stopped) != 1 || !strings.Contains(stopped[0].Reason, "used up") {
		w.Fatalf("stopped %+v", stopped)
	}
	equal(w, "expired beyond", must(w.Expire(w.ctx, b))(w).Objects, 0)
}

func hourForeseen(w *world) {
	w.manyDue("k", 3)
	w.later(time.Minute)
	limits := meta.Limits{TTL: meta.Limit{PerHour: 2}}
	equal(w, "stopped early", len(must(w.Foresee(w.ctx, limits))(w)), 0)
	equal(w, "expired", must(w.Expire(w.ctx, meta.Batch{Limit: 2, Limits: limits}))(w).Objects, 2)
	stopped := must(w.Foresee(w.ctx, limits))(w)
	equal(w, "stopped", len(stopped), 1)
	equal(w, "until the hour ends", stopped[0].HeldUntil.Sub(w.now()) <= time.Hour, true)
}

func othersGoOn(w *world) {
	w.bucket("other", meta.BucketSettings{})
	w.manyDue("k", 3)
	c := w.reference("k", "")
	c.Object.Bucket, c.TTL = "other", time.Minute
	w.commit(c)
	w.later(time.Minute)
	r := must(w.Expire(w.ctx, meta.Batch{Limits: meta.Limits{TTL: meta.Limit{Ask: 2}}}))(w)
	equal(w, "expired", r.Objects, 1)
	equal(w, "parked", r.Parked, 3)
	w.remove("k000")
}

func otherLimits(w *world) {
	w.configure(meta.BucketSettings{Undo: time.Minute})
	for i := range 4 {
		w.put(fmt.Sprint("k", i), fmt.Sprint("body", i))
		w.remove(fmt.Sprint("k", i))
	}
	w.later(time.Minute)
	purge := meta.Batch{Limit: 2, Limits: meta.Limits{Purge: meta.Limit{Ask: 3}}}
	equal(w, "purged", must(w.Purge(w.ctx, purge))(w).Objects, 2)
	r := must(w.Purge(w.ctx, purge))(w)
	equal(w, "purged beyond", r.Objects, 0)
	equal(w, "stopped", len(r.Stopped), 1)
	w.ok(w.AllowGuard(w.ctx, meta.Allowance{Kind: meta.GuardPurge, Until: w.now().Add(time.Hour), N: 1}))
	equal(w, "purged as allowed", must(w.Purge(w.ctx, purge))(w).Objects, 1)
	w.ok(w.AllowGuard(w.ctx, meta.Allowance{Kind: meta.GuardPurge}))
	equal(w, "purged anew", must(w.Purge(w.ctx, purge))(w).Objects, 1)
	w.later(readGrace)
	req := meta.ClaimRequest{Worker: "w", Backend: disk, Limit: 10, Deletes: meta.Limit{Ask: 3}}
	equal(w, "handed out", len(must(w.ClaimCondemned(w.ctx, req))(w).Blobs), 3)
	c := must(w.ClaimCondemned(w.ctx, req))(w)
	equal(w, "handed out beyond", len(c.Blobs), 0)
	if c.Stopped == nil {
		w.Fatal("nothing was stopped")
	}
	w.ok(w.AllowGuard(w.ctx, meta.Allowance{Kind: meta.GuardDeletes, Subject: disk, Until: w.now() + 1, N: -1}))
	equal(w, "handed out at last", len(must(w.ClaimCondemned(w.ctx, req))(w).Blobs), 1)
}

func doubtWaits(w *world) {
	late, sure := w.begin("late"), w.begin("sure")
	w.ok(w.Abandon(w.ctx, late, true))
	w.ok(w.Abandon(w.ctx, sure, false))
	equal(w, "before", must(w.DoubtClock(w.ctx, disk, "it is an hour ahead"))(w), "")
	equal(w, "doubt", must(w.ClockDoubt(w.ctx, disk))(w), "it is an hour ahead")
	equal(w, "no doubt", must(w.ClockDoubt(w.ctx, ""))(w), "")
	c := w.claim()
	equal(w, "claimed", len(c.Blobs), 1)
	equal(w, "which", c.Blobs[0].ID, sure)
	must(w.DoubtClock(w.ctx, disk, ""))(w)
	equal(w, "claimed later", len(w.claim().Blobs), 1)
}

func shareOf(w *world) {
	g := meta.Guard{Kind: meta.GuardTTL}
	l := meta.Limit{Share: 50, Floor: 10}
	now := w.now()
	equal(w, "floor", g.Left(now, l, 4), 10)
	equal(w, "share", g.Left(now, l, 100), 50)
	g.Spend(now, 30)
	equal(w, "rest", g.Left(now, l, 70), 20)
	equal(w, "the next hour", g.Left(now.Add(time.Hour), l, 70), 35)
	equal(w, "no limit", g.Left(now, meta.Limit{}, 70), math.MaxInt64)
}

func seenHold(w *world) {
	seen := must(w.Backends(w.ctx))(w)[0]
	w.ok(w.HoldBackend(w.ctx, disk, "a person says so"))
	w.unchanged(func() { w.fails(w.ChangeHold(w.ctx, seen, ""), lethe.ErrFenced) })
	seen.Held = "a person says so"
	w.ok(w.SetEpoch(w.ctx, disk, 3, 2))
	w.fails(w.ChangeHold(w.ctx, seen, ""), lethe.ErrFenced)
	seen.Intended, seen.Epoch = 3, 2
	w.ok(w.ChangeHold(w.ctx, seen, ""))
	equal(w, "held", must(w.Backends(w.ctx))(w)[0].Held, "")
}
