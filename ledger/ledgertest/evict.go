package ledgertest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
	"github.com/lethe-storage/lethe/receipt"
)

func evictTests() []test {
	return []test{
		{name: "the one used longest ago", run: evictOrder},
		{name: "room for a write", run: evictRoom},
		{name: "what is replaced stays", run: evictSpares},
		{name: "events", run: evictTold},
		{name: "another order", run: evictReordered},
		{name: "where reads do not count", run: evictWritten},
		{name: "above the marks", run: evictMarks},
		{name: "never younger than that", run: evictAge},
		{name: "held", run: evictHeld},
		{name: "what is kept is passed over", run: evictPassesOver},
		{name: "nothing for what has no room then", run: evictForNothing},
		{name: "a clock in doubt", run: evictDoubted},
		{name: "a ledger in doubt", run: evictUnpaired},
		{name: "the only one", run: evictOnly},
		{name: "limits", run: evictLimited},
		{name: "shared contents", run: evictShared},
		{name: "what has ended", run: evictEnded},
		{name: "a bucket that begins to evict", run: evictBegins},
		{name: "settings that cannot be", run: evictSettings},
		{name: "by name", run: evictNamed},
	}
}

// evicts makes the bucket evict at so many objects.
func (w *world) evicts(objects int64, change func(*ledger.BucketSettings)) {
	w.Helper()
	s := ledger.BucketSettings{QuotaObjects: objects, Undo: time.Hour, Evict: ledger.Eviction{Order: ledger.EvictByRead, High: 90, Low: 50}}
	if change != nil {
		change(&s)
	}
	w.configure(s)
}

// ordered is evicts, with the objects in their order.
func (w *world) ordered(objects int64, change func(*ledger.BucketSettings)) {
	w.Helper()
	w.evicts(objects, change)
	for must(w.ReapplyRules(w.ctx, 0))(w).More {
	}
}

// filled writes objects a second apart, and returns them.
func (w *world) filled(keys ...string) (out []ledger.Object) {
	w.Helper()
	for _, k := range keys {
		out = append(out, w.put(k, "body of "+k))
		w.later(time.Second)
	}
	return out
}

func (w *world) evict(r ledger.EvictRequest) ledger.Evicted {
	w.Helper()
	r.Bucket = bucketName
	return must(w.Evict(w.ctx, r))(w)
}

// names lists the keys that are there.
func (w *world) names() string {
	var out []string
	for _, o := range must(w.List(w.ctx, ledger.ListQuery{Bucket: bucketName, Limit: 99}))(w).Objects {
		out = append(out, o.Key)
	}
	return strings.Join(out, " ")
}

func evictOrder(w *world) {
	w.evicts(4, nil)
	list := w.filled("a", "b", "c", "d")
	id := w.onlyBlob("b").ID
	w.later(10 * time.Minute)
	equal(w, "noted", must(w.NoteReads(w.ctx, []ledger.Read{{Bucket: list[0].BucketID, Key: "a", ID: list[0].ID, At: w.now()}}, false))(w), 1)
	w.later(time.Second)
	next := must(w.NextEvicted(w.ctx, ledger.EvictQuery{Bucket: bucketName, Limit: 3}))(w)
	equal(w, "next", spaced(len(next), next[0].Key, next[0].At == list[1].ModifiedAt, next[0].By, next[1].Key, next[2].Key), "3 b true room c d")
	rest := must(w.NextEvicted(w.ctx, ledger.EvictQuery{Bucket: bucketName, After: ledger.DueMark{Due: next[1].At, Name: next[1].Key}}))(w)
	equal(w, "the last stays", spaced(len(rest), rest[0].Key), "1 d")
	out := w.evict(ledger.EvictRequest{Batch: ledger.Batch{Limit: 9}})
	equal(w, "evicted", spaced(out.Objects, out.Bytes, out.Blobs, out.More), "2 18 2 false")
	equal(w, "left", w.names(), "a d")
	w.condemned(id, lethe.ReasonEvicted, w.now().Add(readGrace))
	w.told("b", receipt.Receipt{Reason: lethe.ReasonEvicted, Size: 9, Version: list[1].ID, Due: receipt.Instant(w.now())})
	equal(w, "trash", len(must(w.Trash(w.ctx, ledger.TrashQuery{}))(w)), 0)
	equal(w, "again", w.evict(ledger.EvictRequest{}).Objects, 0)
}

func evictRoom(w *world) {
	w.evicts(4, nil)
	w.filled("a", "b", "c", "d")
	c := w.written("e", "body of e")
	_, err := w.Commit(w.ctx, c)
	w.fails(err, lethe.ErrQuotaExceeded)
	first, lacks := ledger.RoomFor(err)
	equal(w, "makes room", spaced(first.Bucket, first.Room, lacks), bucketName+" {1 9} true")
	one := ledger.EvictRequest{Room: ledger.Room{Objects: 1, Bytes: 9}, Batch: ledger.Batch{Limit: 1}}
	out := w.evict(one)
	equal(w, "evicted", spaced(out.Objects, out.Room, out.More), "1 true true")
	equal(w, "there is room", spaced(w.evict(one).Objects, w.evict(one).Room), "0 true")
	w.commit(c)
	equal(w, "left", w.names(), "b c d e")
	w.later(time.Second)
	w.evicts(4, func(s *ledger.BucketSettings) { s.QuotaBytes = 40 })
	for _, r := range []ledger.Room{{Objects: 1, Bytes: 41}, {Objects: 5}} {
		out = w.evict(ledger.EvictRequest{Room: r})
		equal(w, "too large", spaced(out.Objects, out.Room, out.More), "0 false false")
	}
	out = w.evict(ledger.EvictRequest{Room: ledger.Room{Objects: 1, Bytes: 40}})
	equal(w, "all of it", spaced(out.Objects, out.Room), "4 true")
	w.configure(ledger.BucketSettings{QuotaObjects: 1})
	w.filled("x")
	_, err = w.Commit(w.ctx, w.written("y", "more"))
	_, evicts := ledger.RoomFor(err)
	equal(w, "refuses", spaced(errors.Is(err, lethe.ErrQuotaExceeded), evicts), "true false")
	equal(w, "refuses", w.evict(one).Objects, 0)
	w.fails(refused(w.Evict(w.ctx, ledger.EvictRequest{Bucket: "nobody's"})), lethe.ErrNoSuchBucket)
}

// evictSpares: a write needs only the room by which it grows, and what it replaces is not evicted.
func evictSpares(w *world) {
	w.evicts(9, func(s *ledger.BucketSettings) { s.QuotaBytes, s.Evict.Low, s.Undo = 40, 90, 0 })
	w.filled("a", "b", "c", "d")
	c := w.written("a", "body of a, that grows")
	_, err := w.Commit(w.ctx, c)
	w.fails(err, lethe.ErrQuotaExceeded)
	asks, _ := ledger.RoomFor(err)
	equal(w, "room", spaced(asks.Bucket, asks.Room, asks.Spare), bucketName+" {0 12} a")
	out := w.evict(ledger.EvictRequest{Room: asks.Room, Spare: "a", Batch: ledger.Batch{Limit: 1}})
	equal(w, "evicted", spaced(out.Objects, out.Room, w.names()), "1 true a c d")
	w.commit(c)
	equal(w, "left", w.names(), "a c d")
	_, err = w.Commit(w.ctx, w.written("a", strings.Repeat("x", 41))) // grows by 20, and never fits
	_, lacks := ledger.RoomFor(err)
	equal(w, "larger than the quota", spaced(errors.Is(err, lethe.ErrQuotaExceeded), lacks), "true false")
	out = w.evict(ledger.EvictRequest{Room: ledger.Room{Bytes: 10}, Spare: "a", SpareToo: "c"})
	equal(w, "what is copied stays", spaced(out.Objects, w.names()), "1 a c")
}

// evictTold: targets hear of it as of what expires, with its own reason.
func evictTold(w *world) {
	w.evicts(4, nil)
	w.filled("a", "b", "c", "d")
	w.notify()
	w.evict(ledger.EvictRequest{Begun: true})
	w.expects("LifecycleExpiration:Delete a evicted, LifecycleExpiration:Delete b evicted")
}

// evictReordered: where reads stop to count, the objects are put in the order of their writes.
func evictReordered(w *world) {
	w.evicts(4, nil)
	list := w.filled("a", "b", "c")
	w.later(10 * time.Minute)
	equal(w, "noted", must(w.NoteReads(w.ctx, []ledger.Read{{Bucket: list[0].BucketID, Key: "a", ID: list[0].ID, At: w.now()}}, false))(w), 1)
	w.evicts(4, func(s *ledger.BucketSettings) { s.Evict.Order = ledger.EvictByWrite })
	w.later(time.Second)
	equal(w, "before", len(must(w.NextEvicted(w.ctx, ledger.EvictQuery{Bucket: bucketName}))(w)), 0)
	equal(w, "done", must(w.ReapplyRules(w.ctx, 9))(w).Done, true)
	equal(w, "after", must(w.NextEvicted(w.ctx, ledger.EvictQuery{Bucket: bucketName}))(w)[0].Key, "a")
	equal(w, "noted after", w.note(list[0], 0), false)
	w.evicts(4, func(s *ledger.BucketSettings) { s.Evict.Order, s.Evict.Low = ledger.EvictByWrite, 60 })
	equal(w, "the same order", must(w.ReapplyRules(w.ctx, 9))(w), ledger.Reapplied{})
}

// evictWritten: who reads an object is told of its last use only if the read may change it.
func evictWritten(w *world) {
	w.evicts(4, func(s *ledger.BucketSettings) { s.Evict.Order = ledger.EvictByWrite })
	o := w.filled("a")[0]
	equal(w, "read", spaced(w.get("a").Object.UsedAt, must(w.StatObject(w.ctx, bucketName, "a"))(w).Object.UsedAt), "- -")
	w.evicts(4, nil)
	equal(w, "read", spaced(w.get("a").Object.UsedAt, must(w.StatObject(w.ctx, bucketName, "a"))(w).Object.UsedAt), spaced(o.ModifiedAt, o.ModifiedAt))
}

func evictMarks(w *world) {
	w.evicts(10, nil)
	w.filled("a", "b", "c", "d", "e", "f", "g", "h", "i")
	equal(w, "at the high mark", w.evict(ledger.EvictRequest{}).Objects, 0)
	w.filled("j")
	first := w.evict(ledger.EvictRequest{Batch: ledger.Batch{Limit: 2}})
	equal(w, "a batch", spaced(first.Objects, first.More), "2 true")
	equal(w, "below the high mark", w.evict(ledger.EvictRequest{}).Objects, 0)
	out := w.evict(ledger.EvictRequest{Begun: true, After: first.Next, Batch: ledger.Batch{Limit: 9}})
	equal(w, "begun", spaced(out.Objects, out.More, w.names()), "3 false f g h i j")
	list := must(w.EvictingBuckets(w.ctx, "", 0))(w)
	equal(w, "buckets", spaced(len(list), list[0].Name, list[0].Objects), "1 "+bucketName+" 5")
	equal(w, "after it", len(must(w.EvictingBuckets(w.ctx, list[0].ID, 9))(w)), 0)
}

func evictAge(w *world) {
	w.evicts(2, func(s *ledger.BucketSettings) { s.Evict.MinAge, s.Evict.Order = time.Hour, ledger.EvictByWrite })
	w.filled("a", "b")
	room := ledger.EvictRequest{Room: ledger.Room{Objects: 1}}
	out := w.evict(room)
	equal(w, "too young", spaced(out.Objects, out.Room, out.More), "0 false false")
	w.later(time.Hour + 7*time.Minute - time.Second) // notes come up to a tenth of it and a minute late
	equal(w, "one is old enough", w.evict(room).Objects, 1)
}

func evictHeld(w *world) {
	w.evicts(4, nil)
	w.filled("held/a", "held/b", "c", "d")
	h := w.hold(ledger.HoldPrefix, "held/")
	r := ledger.EvictRequest{Batch: ledger.Batch{Limit: 2}, Begun: true}
	out := w.evict(r)
	equal(w, "held", spaced(out.Objects, out.Held, out.More), "0 2 true")
	next := must(w.NextEvicted(w.ctx, ledger.EvictQuery{Bucket: bucketName}))(w)
	equal(w, "next", spaced(len(next), next[0].Key, next[0].Held, next[2].Key, next[2].Held), "3 held/a true c false")
	r.After = out.Next
	out = w.evict(r)
	equal(w, "the others", spaced(out.Objects, out.Held, w.names()), "1 0 d held/a held/b")
	w.ok(w.ReleaseHold(w.ctx, h))
	equal(w, "released", w.evict(ledger.EvictRequest{Room: ledger.Room{Objects: 4}}).Objects, 3)
}

// evictPassesOver: what a hold keeps is looked at once, and not changed. Its place in the order
// is as it was when the hold is released.
func evictPassesOver(w *world) {
	w.ordered(6, nil)
	held := w.filled("held/a", "held/b", "held/c", "d", "e", "f")
	h := w.hold(ledger.HoldPrefix, "held/")
	r := ledger.EvictRequest{Batch: ledger.Batch{Limit: 3}}
	equal(w, "too new to be passed over", spaced(w.evict(r).Held, w.evict(r).Held), "3 3")
	w.later(ledger.KeptAge + time.Second)
	w.unchanged(func() {
		out := w.evict(r)
		equal(w, "first", spaced(out.Objects, out.Held, out.KeptBefore), "0 3 false")
	})
	out := w.evict(r)
	equal(w, "then", spaced(out.Objects, out.Held, out.KeptBefore, w.names()), "2 0 true f held/a held/b held/c")
	equal(w, "as it was", must(w.StatObject(w.ctx, bucketName, "held/a"))(w).Object.UsedAt, held[0].UsedAt)
	out = w.evict(ledger.EvictRequest{Room: ledger.Room{Objects: 4}})
	equal(w, "no room", spaced(out.Objects, out.Held, out.KeptBefore, out.More), "0 0 true false")
	w.ok(w.ReleaseHold(w.ctx, h))
	out = w.evict(ledger.EvictRequest{Room: ledger.Room{Objects: 4}, Batch: ledger.Batch{Limit: 1}})
	equal(w, "released", spaced(out.Objects, w.names()), "1 f held/b held/c")
}

// evictForNothing: where holds or the least age keep too much, nothing goes for a write, however
// small the batches are.
func evictForNothing(w *world) {
	w.evicts(4, nil)
	w.filled("a", "held/b", "c", "held/d")
	w.hold(ledger.HoldPrefix, "held/")
	out := w.evict(ledger.EvictRequest{Room: ledger.Room{Objects: 3}, Batch: ledger.Batch{Limit: 1}})
	equal(w, "held", spaced(out.Objects, out.Held, out.Room, out.More, w.names()), "0 2 false false a c held/b held/d")
	out = w.evict(ledger.EvictRequest{Room: ledger.Room{Objects: 2}})
	equal(w, "what may go is enough", spaced(out.Objects, out.Room), "2 true")
	w.evicts(4, func(s *ledger.BucketSettings) { s.Evict.MinAge = time.Hour })
	w.later(2 * time.Hour)
	w.filled("e", "f")
	out = w.evict(ledger.EvictRequest{Room: ledger.Room{Objects: 1}})
	equal(w, "too young", spaced(out.Objects, out.Room, out.More, w.names()), "0 false false e f held/b held/d")
}

// evictDoubted: while the clock is in doubt nothing goes by its least age. The order alone does not
// depend on the clock.
func evictDoubted(w *world) {
	aged := func(d time.Duration) {
		w.evicts(2, func(s *ledger.BucketSettings) { s.Evict.MinAge = d })
	}
	aged(time.Hour)
	w.filled("a", "b")
	w.later(5 * time.Hour)
	one := ledger.EvictRequest{Bucket: bucketName, Room: ledger.Room{Objects: 1}}
	equal(w, "there is room", w.evict(ledger.EvictRequest{Room: ledger.Room{Bytes: 1}}).Room, true)
	w.later(-2 * time.Minute)
	w.unchanged(func() { w.fails(refused(w.Evict(w.ctx, one)), lethe.ErrClock) })
	equal(w, "there is room", w.evict(ledger.EvictRequest{Room: ledger.Room{Bytes: 1}}).Room, true)
	aged(0)
	equal(w, "by the order", w.evict(one).Objects, 1)
}

// evictUnpaired: what a restored ledger does not know may keep objects.
func evictUnpaired(w *world) {
	w.evicts(2, nil)
	w.filled("a", "b")
	one := ledger.EvictRequest{Bucket: bucketName, Room: ledger.Room{Objects: 1}}
	w.ok(w.ChangeHold(w.ctx, w.backendRow(disk), ledger.BackendHold{For: ledger.HeldForLedger, Reason: "two ledgers"}))
	w.unchanged(func() { w.fails(refused(w.Evict(w.ctx, one)), ledger.ErrUnpaired) })
	w.ok(w.IntendEpoch(w.ctx, w.backendRow(disk), 7))
	w.ok(w.AcceptEpoch(w.ctx, disk, 7))
	equal(w, "accepted", w.evict(one).Objects, 1)
}

// evictOnly: ahead of need the object used last stays, however full the bucket is by it.
func evictOnly(w *world) {
	w.evicts(1, nil)
	w.filled("a")
	next := must(w.EvictingBuckets(w.ctx, "", 0))(w)[0]
	equal(w, "one of one", spaced(w.evict(ledger.EvictRequest{}).Objects, w.evict(ledger.EvictRequest{Begun: true}).Objects, next.Excess(ledger.EvictRequest{})), "0 0 {0 0}")
	equal(w, "for a write", w.evict(ledger.EvictRequest{Room: ledger.Room{Objects: 1}}).Objects, 1)
	w.evicts(9, func(s *ledger.BucketSettings) { s.QuotaBytes = 20 })
	w.filled("a")
	w.put("large", strings.Repeat("x", 11))
	w.later(time.Second)
	out := w.evict(ledger.EvictRequest{})
	equal(w, "the last", spaced(out.Objects, out.More, w.names()), "1 false large")
	equal(w, "again", w.evict(ledger.EvictRequest{}).Objects, 0)
	w.configure(ledger.BucketSettings{})
	w.remove("large")
	w.put("held", strings.Repeat("x", 15))
	w.hold(ledger.HoldObject, "held")
	w.later(time.Second)
	b := w.filled("a", "b")[1]
	w.ordered(9, func(s *ledger.BucketSettings) { s.QuotaBytes = 20 })
	equal(w, "by name", w.evict(ledger.EvictRequest{Batch: ledger.Batch{Only: []ledger.Named{{Bucket: b.BucketID, Key: "b", ID: b.ID}}}}).Objects, 0)
	out = w.evict(ledger.EvictRequest{})
	equal(w, "beside what a hold keeps", spaced(out.Objects, w.names()), "1 b held")
	equal(w, "again", spaced(w.evict(ledger.EvictRequest{Begun: true}).Objects, len(must(w.NextEvicted(w.ctx, ledger.EvictQuery{Bucket: bucketName}))(w))), "0 1")
}

// evictLimited: what the engine evicts counts against the limit on what ends by itself; a write's
// own evictions do not.
func evictLimited(w *world) {
	w.evicts(10, nil)
	w.filled("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
	r := ledger.EvictRequest{Batch: ledger.Batch{Limit: 2, Limits: ledger.Limits{TTL: ledger.Limit{PerHour: 3}}}}
	out := w.evict(r)
	equal(w, "within it", spaced(out.Objects, out.More, len(out.Tripped)), "2 true 0")
	r.Begun, r.After = true, out.Next
	out = w.evict(r)
	equal(w, "tripped", spaced(out.Objects, out.More, out.Tripped[0].Kind, out.Tripped[0].N), "1 false ttl 3")
	out = w.evict(r)
	equal(w, "stopped", spaced(out.Objects, out.More, len(out.Tripped)), "0 false 0")
	r.Room, r.After = ledger.Room{Objects: 4}, ledger.UseMark{}
	equal(w, "for a write", spaced(w.evict(r).Objects, w.names()), "2 f g h i j")
	r.Room = ledger.Room{}
	w.later(time.Hour)
	w.filled("k", "l", "m", "n")
	equal(w, "in the next hour", w.evict(r).Objects, 2)
}

func evictShared(w *world) {
	w.evicts(3, nil)
	for _, k := range []string{"a", "b", "c"} {
		w.put(k, "same")
		w.later(time.Second)
	}
	out := w.evict(ledger.EvictRequest{Begun: true})
	equal(w, "shared", spaced(out.Objects, out.Bytes, out.Blobs), "2 8 0")
	out = w.evict(ledger.EvictRequest{Room: ledger.Room{Objects: 3}})
	equal(w, "the last", spaced(out.Objects, out.Blobs, len(out.Dropped)), "1 1 1")
}

func evictEnded(w *world) {
	w.evicts(2, nil)
	short := w.putTTL("short", "body", time.Minute)
	w.later(time.Second)
	w.filled("b")
	w.later(time.Hour)
	out := w.evict(ledger.EvictRequest{Begun: true})
	equal(w, "ended", out.Objects, 1)
	w.told("short", receipt.Receipt{Reason: lethe.ReasonExpiry, Size: 4, Version: short.ID, Due: receipt.Instant(w.now())})
}

// evictBegins: what was written before the bucket evicted is put in order by its write. Nothing
// goes before all is: it would be what was used last.
func evictBegins(w *world) {
	w.filled("c", "b", "a")
	w.evicts(5, nil)
	w.filled("d", "e")
	nothing := func() {
		w.Helper()
		equal(w, "next", len(must(w.NextEvicted(w.ctx, ledger.EvictQuery{Bucket: bucketName}))(w)), 0)
		for _, r := range []ledger.EvictRequest{{}, {Begun: true}, {Room: ledger.Room{Objects: 1}}} {
			out := w.evict(r)
			equal(w, "evicted", spaced(out.Objects, out.Room, out.More), "0 false false")
		}
	}
	nothing()
	equal(w, "done", must(w.ReapplyRules(w.ctx, 2))(w).Done, false)
	nothing()
	must(w.SetRules(w.ctx, ledger.RulesChange{Bucket: bucketName, Rules: lifecycle.Rules{temporary(9)}, By: "operator"}))(w)
	nothing()
	equal(w, "done", must(w.ReapplyRules(w.ctx, 9))(w).Done, true)
	next := must(w.NextEvicted(w.ctx, ledger.EvictQuery{Bucket: bucketName}))(w)
	equal(w, "order", spaced(len(next), next[0].Key, next[3].Key), "4 c d")
	must(w.SetRules(w.ctx, ledger.RulesChange{Bucket: bucketName, By: "operator"}))(w)
	equal(w, "while other rules are applied", spaced(w.evict(ledger.EvictRequest{Batch: ledger.Batch{Limit: 1}}).Objects, w.names()), "1 a b d e")
}

func evictSettings(w *world) {
	on := ledger.Eviction{Order: ledger.EvictByRead, High: 90, Low: 50}
	for _, change := range []func(*ledger.BucketSettings){
		func(s *ledger.BucketSettings) { s.QuotaObjects = 0 },
		func(s *ledger.BucketSettings) { s.Evict.Order = "size" },
		func(s *ledger.BucketSettings) { s.Evict.Low = 0 },
		func(s *ledger.BucketSettings) { s.Evict.Low = 91 },
		func(s *ledger.BucketSettings) { s.Evict.High = 101 },
		func(s *ledger.BucketSettings) { s.Evict.MinAge = -1 },
	} {
		s := ledger.BucketSettings{QuotaObjects: 3, Evict: on}
		change(&s)
		if _, err := w.ConfigureBucket(w.ctx, bucketName, s, nil); err == nil {
			w.Errorf("%+v was taken", s)
		}
	}
	s := ledger.BucketSettings{QuotaBytes: 3, Evict: ledger.Eviction{Order: ledger.EvictByWrite, High: 100, Low: 100, MinAge: time.Hour}}
	w.configure(s)
	equal(w, "settings", must(w.Bucket(w.ctx, bucketName))(w).BucketSettings, s)
}

// evictNamed: only what a plan names goes, in the version that it saw, and no more than has to.
func evictNamed(w *world) {
	w.evicts(4, nil)
	list := w.filled("a", "b", "c", "d")
	again := w.filled("b")[0]
	name := func(o ledger.Object) ledger.Named { return ledger.Named{Bucket: o.BucketID, Key: o.Key, ID: o.ID} }
	out := w.evict(ledger.EvictRequest{Begun: true, Batch: ledger.Batch{Only: []ledger.Named{name(list[3]), name(list[1])}}})
	equal(w, "taken", spaced(out.Taken), spaced([]ledger.Named{name(list[3])}))
	out = w.evict(ledger.EvictRequest{Begun: true, Batch: ledger.Batch{Only: []ledger.Named{name(list[2]), name(again)}}})
	equal(w, "no more than has to", spaced(out.Taken, w.names()), spaced([]ledger.Named{name(list[2])}, "a b"))
	w.bucket("other", ledger.BucketSettings{QuotaObjects: 1, Evict: ledger.Eviction{Order: ledger.EvictByRead, High: 1, Low: 1}})
	w.putIn("other", "x", "body", 0)
	out = must(w.Evict(w.ctx, ledger.EvictRequest{Bucket: "other", Begun: true, Batch: ledger.Batch{Only: []ledger.Named{name(list[0])}}}))(w)
	equal(w, "of another bucket", spaced(out.Objects, w.names()), "0 a b")
	w.ordered(2, nil)
	w.hold(ledger.HoldObject, "a")
	w.later(ledger.KeptAge + time.Second)
	out = w.evict(ledger.EvictRequest{Begun: true, Batch: ledger.Batch{Only: []ledger.Named{name(list[0])}}})
	equal(w, "held", spaced(out.Objects, out.Held, w.evict(ledger.EvictRequest{}).KeptBefore), "0 1 false")
}

// spaced returns values in one line, with a space between any two.
func spaced(values ...any) string { return strings.TrimSpace(fmt.Sprintln(values...)) }
