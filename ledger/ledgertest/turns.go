package ledgertest

import (
	"context"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

func turnTests() []test {
	return []test{
		{name: "buckets with work", run: turnBuckets},
		{name: "objects by turns", run: turnObjects},
		{name: "blobs by turns", run: turnBlobs},
		{name: "a batch cut short takes of each", run: turnsBounded},
		{name: "what was shared belongs to the last", run: turnsShared},
		{name: "ten do not wait for hundreds", run: turnsFair},
	}
}

// putIn writes an object in another bucket.
func (w *world) putIn(bucket, key, body string, ttl time.Duration) ledger.Object {
	w.Helper()
	c := w.written(key, body)
	c.Object.Bucket, c.TTL = bucket, ttl
	return w.commit(c).Object
}

// tenants makes buckets, and returns their ids in order.
func (w *world) tenants(names ...string) (ids []lethe.ID) {
	w.Helper()
	for _, name := range names {
		ids = append(ids, w.bucket(name, ledger.BucketSettings{}).ID)
		w.later(time.Microsecond)
	}
	return ids
}

func turnBuckets(w *world) {
	first := must(w.Bucket(w.ctx, bucketName))(w).ID
	ids := w.tenants("a", "b", "c")
	w.putIn("a", "k", "1", time.Minute)
	w.putIn("c", "k", "2", 2*time.Minute)
	w.putIn("c", "l", "3", 3*time.Minute)
	w.putIn("b", "k", "4", time.Hour)
	start := w.now()
	w.later(10 * time.Minute)
	a, c := ledger.Turn{Bucket: ids[0], After: start.Add(time.Minute)}, ledger.Turn{Bucket: ids[2], After: start.Add(2 * time.Minute)}
	for _, t := range []struct {
		q    ledger.TurnQuery
		want ledger.Turns
	}{
		{ledger.TurnQuery{}, ledger.Turns{Due: []ledger.Turn{a, c}, Last: ids[2], End: true}},
		{ledger.TurnQuery{Limit: 2}, ledger.Turns{Due: []ledger.Turn{a}, Last: ids[0]}},
		{ledger.TurnQuery{From: ids[0], Limit: 9}, ledger.Turns{Due: []ledger.Turn{c}, Last: ids[2], End: true}},
		{ledger.TurnQuery{From: ids[2], Limit: 9}, ledger.Turns{Last: ids[2], End: true}},
		{ledger.TurnQuery{Limit: 1}, ledger.Turns{Last: first}},
		{
			ledger.TurnQuery{After: map[lethe.ID]lethe.Time{ids[0]: a.After + 1, ids[2]: c.After + 1}},
			ledger.Turns{Due: []ledger.Turn{{Bucket: ids[2], After: start.Add(3 * time.Minute)}}, Last: ids[2], End: true},
		},
		{ledger.TurnQuery{Backend: disk}, ledger.Turns{Last: ids[2], End: true}},
	} {
		equal(w, fmt.Sprintf("%+v", t.q), fmt.Sprintf("%+v", must(w.DueBuckets(w.ctx, t.q))(w)), fmt.Sprintf("%+v", t.want))
	}
}

func turnObjects(w *world) {
	ids := w.tenants("a", "b")
	for i := range 6 {
		w.putIn("a", fmt.Sprint(i), "", time.Duration(i+1)*time.Second)
		w.putIn("b", fmt.Sprint(i), "", time.Duration(i+10)*time.Second)
	}
	start := w.now()
	w.later(time.Hour)
	b := ledger.Batch{Limit: 4, After: start, Turns: []ledger.Turn{{Bucket: ids[1], After: start.Add(14 * time.Second)}, {Bucket: ids[0], After: start}}}
	r := must(w.Expire(w.ctx, b))(w)
	if r.Objects != 4 || r.LastDue != start || r.More {
		w.Fatalf("expired %+v", r)
	}
	left := must(w.DueBuckets(w.ctx, ledger.TurnQuery{After: map[lethe.ID]lethe.Time{ids[1]: start.Add(14 * time.Second)}}))(w)
	equal(w, "left", fmt.Sprint(left.Due), fmt.Sprint([]ledger.Turn{{Bucket: ids[0], After: start.Add(3 * time.Second)}}))
	equal(w, "left", must(w.ExpireBacklog(w.ctx))(w).Count, 8)
	w.unchanged(func() {
		equal(w, "expired", must(w.Expire(w.ctx, ledger.Batch{Limit: 4, Turns: []ledger.Turn{{Bucket: "nobody"}}}))(w).Objects, 0)
	})
}

func turnBlobs(w *world) {
	ids := w.tenants("a", "b")
	for i := range 4 {
		w.putIn("a", fmt.Sprint(i), fmt.Sprint("a", i), time.Second)
		w.putIn("b", fmt.Sprint(i), fmt.Sprint("b", i), time.Minute)
	}
	w.later(time.Hour)
	equal(w, "expired", must(w.Expire(w.ctx, ledger.Batch{}))(w).Objects, 8)
	due := w.now().Add(readGrace)
	w.ok(w.Abandon(w.ctx, w.begin("nobody's"), false))
	w.later(readGrace)
	q := ledger.TurnQuery{Backend: disk, Limit: 9}
	found := must(w.DueBuckets(w.ctx, q))(w)
	equal(w, "due", fmt.Sprint(found.Due), fmt.Sprint([]ledger.Turn{{After: due.Add(-readGrace)}, {Bucket: ids[0], After: due}, {Bucket: ids[1], After: due}}))
	equal(w, "due elsewhere", len(must(w.DueBuckets(w.ctx, ledger.TurnQuery{Backend: "nowhere"}))(w).Due), 0)

	c := must(w.ClaimCondemned(w.ctx, ledger.ClaimRequest{Worker: "w", Backend: disk, Limit: 5, Turns: []ledger.Turn{found.Due[2], found.Due[0]}}))(w)
	equal(w, "claimed", len(c.Blobs), 4) // three of b's, and the one without a bucket
	w.settle(c, ledger.SettleItem{Result: ledger.Gone})
	c = must(w.ClaimCondemned(w.ctx, ledger.ClaimRequest{Worker: "w", Backend: disk, Limit: 9, Turns: found.Due}))(w)
	equal(w, "claimed", len(c.Blobs), 5)
	equal(w, "due", len(must(w.DueBuckets(w.ctx, q))(w).Due), 0)
	w.ok(refused(w.RecoverClaims(w.ctx, 0, 9)))
	equal(w, "due", len(must(w.DueBuckets(w.ctx, q))(w).Due), 2)
}

// turnsBounded: a batch that ends early, by the blobs that it condemns, has taken some of
// each bucket.
func turnsBounded(w *world) {
	ids := w.tenants("a", "b")
	for i := range 5 {
		w.putIn("a", fmt.Sprint(i), fmt.Sprint("a", i), time.Second)
		w.putIn("b", fmt.Sprint(i), fmt.Sprint("b", i), time.Second)
	}
	w.later(time.Hour)
	r := must(w.Expire(w.ctx, ledger.Batch{Limit: 10, MaxBlobs: 4, Turns: []ledger.Turn{{Bucket: ids[0]}, {Bucket: ids[1]}}}))(w)
	if r.Objects != 4 || r.Blobs != 4 || !r.More {
		w.Fatalf("expired %+v", r)
	}
	w.later(readGrace)
	equal(w, "condemned of both", len(must(w.DueBuckets(w.ctx, ledger.TurnQuery{Backend: disk}))(w).Due), 2)
}

// turnsShared: a blob belongs to the bucket of its last reference.
func turnsShared(w *world) {
	ids := w.tenants("a", "b")
	w.putIn("a", "k", "body", time.Minute)
	c := w.reference("k", "body") // no second upload, which would be a duplicate without a bucket
	c.Object.Bucket, c.TTL = "b", time.Second
	w.commit(c)
	w.later(time.Hour)
	equal(w, "blobs", must(w.Expire(w.ctx, ledger.Batch{}))(w).Blobs, 1)
	w.later(readGrace)
	found := must(w.DueBuckets(w.ctx, ledger.TurnQuery{Backend: disk}))(w)
	equal(w, "due", fmt.Sprint(found.Due), fmt.Sprint([]ledger.Turn{{Bucket: ids[0], After: w.now()}}))
}

// turnsFair: ten objects of one bucket, and their bytes, are gone within a few batches,
// however many of another bucket were due before.
func turnsFair(w *world) {
	const many, few, batch, soon = 200, 10, 10, 5
	w.tenants("a", "b")
	stay := map[lethe.ID]bool{}
	for i := range many {
		w.putIn("a", fmt.Sprint(i), fmt.Sprint("a", i), time.Second)
	}
	for i := range few {
		o := w.putIn("b", fmt.Sprint(i), fmt.Sprint("b", i), time.Minute)
		stay[must(w.Resolve(w.ctx, "b", o.Key))(w).Segments[0].Blobs[0].ID] = true
	}
	w.later(time.Hour)
	left := func() (n int) {
		for id := range stay {
			if list := must(w.BlobsByID(w.ctx, []lethe.ID{id}))(w); len(list) == 1 && (list[0].State != lethe.Condemned || list[0].DueAt <= w.now()) {
				n++
			}
		}
		return n
	}
	identity := must(w.Identity(w.ctx))(w)
	expire := &routine.Expire{Ledger: w.Ledger, Batch: ledger.Batch{Limit: batch, MaxBlobs: batch}}
	clean := &routine.Clean{
		Ledger: w.Ledger, Stores: map[string]blob.Store{disk: memblob.New(memblob.Options{})}, Store: identity.ID,
		Safety: reclaim.Safety{}.WithDefaults(), Limit: batch, Clock: w.clock,
	}
	for _, r := range []reclaim.Routine{expire, clean} {
		counts, step := &reclaim.Counts{}, r.Pass("worker")
		for more, asked := true, false; more; {
			var err error
			more, err = step(context.Background(), counts.Add)
			w.ok(err)
			if !asked && counts.Get(reclaim.Items) >= soon*batch {
				equal(w, "left by "+r.Name(), left(), 0)
				asked = true
			}
		}
		equal(w, "by "+r.Name(), counts.Get(reclaim.Items), many+few)
		w.later(readGrace)
	}
}
