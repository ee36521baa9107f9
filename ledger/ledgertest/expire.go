package ledgertest

import (
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func expireTests() []test {
	return []test{
		{name: "what is due", run: expireDue},
		{name: "nothing is due", run: expireNothing},
		{name: "oldest first, by batch", run: expireBatch},
		{name: "bounded by blobs", run: expireBlobs},
		{name: "shared contents", run: expireShared},
		{name: "the instant of the last reference", run: expireDied},
		{name: "backlog", run: expireBacklog},
		{name: "an object written again", run: expireRewritten},
	}
}

func expireDue(w *world) {
	o := w.putTTL("k", "body", time.Minute)
	id, due := w.onlyBlob("k").ID, w.now().Add(time.Minute)
	w.put("stays", "other")
	w.later(time.Hour)
	r := must(w.Expire(w.ctx, ledger.Batch{Limit: 10}))(w)
	equal(w, "expired", plain(r), plain(ledger.Reclaimed{Objects: 1, Bytes: 4, Blobs: 1, BlobBytes: 4, Dropped: []lethe.ID{o.ContentID}, LastDue: due}))
	w.condemned(id, lethe.ReasonExpiry, w.now().Add(readGrace))
	equal(w, "died", w.row(id).DiedAt, due)
	w.totals(0, 1, 1, 0)
}

func expireNothing(w *world) {
	w.putTTL("k", "body", time.Minute)
	w.later(time.Minute - time.Microsecond)
	after := w.now()
	w.unchanged(func() {
		equal(w, "expired", plain(must(w.Expire(w.ctx, ledger.Batch{Limit: 1, After: after}))(w)), plain(ledger.Reclaimed{LastDue: after}))
	})
	w.later(time.Microsecond)
	equal(w, "expired", must(w.Expire(w.ctx, ledger.Batch{After: after}))(w).Objects, 1)
}

func expireBatch(w *world) {
	for i := range 5 {
		w.putTTL(fmt.Sprint("k", i), fmt.Sprint("body", i), time.Duration(5-i)*time.Minute)
	}
	start := w.now()
	w.later(time.Hour)
	b := ledger.Batch{Limit: 2}
	for _, want := range []struct {
		objects int
		last    time.Duration
		more    bool
	}{{2, 2 * time.Minute, true}, {2, 4 * time.Minute, true}, {1, 5 * time.Minute, false}, {0, 5 * time.Minute, false}} {
		r := must(w.Expire(w.ctx, b))(w)
		if r.Objects != want.objects || r.LastDue != start.Add(want.last) || r.More != want.more {
			w.Fatalf("expired %+v, want %+v", r, want)
		}
		b.After = r.LastDue
	}
}

// expireBlobs: a batch is also bounded by the blobs that it condemns, but takes at least one
// object.
func expireBlobs(w *world) {
	c := w.completeOnto("big")
	must(w.Update(w.ctx, ledger.Update{Op: w.id(), Bucket: bucketName, Key: "big", TTL: &ledger.TTLChange{TTL: time.Minute}}))(w)
	w.put("kept", "shared")
	for i, body := range []string{"shared", "shared", "a", "b", "c"} {
		w.putTTL(fmt.Sprint("k", i), body, time.Duration(i+2)*time.Minute)
	}
	w.later(time.Hour)
	r := must(w.Expire(w.ctx, ledger.Batch{MaxBlobs: 1}))(w)
	if r.Objects != 3 || r.Blobs != 2 || !r.More || r.Dropped[0] != c.Object.ContentID {
		w.Fatalf("expired %+v", r)
	}
	r = must(w.Expire(w.ctx, ledger.Batch{MaxBlobs: 2}))(w)
	if r.Objects != 2 || r.Blobs != 2 || !r.More {
		w.Fatalf("expired %+v", r)
	}
	r = must(w.Expire(w.ctx, ledger.Batch{MaxBlobs: 2}))(w)
	if r.Objects != 1 || r.More {
		w.Fatalf("expired %+v", r)
	}
}

func expireShared(w *world) {
	w.putTTL("a", "body", time.Minute)
	w.putTTL("b", "body", time.Minute)
	w.put("c", "body")
	w.later(time.Minute)
	r := must(w.Expire(w.ctx, ledger.Batch{}))(w)
	if r.Objects != 2 || r.Bytes != 8 || r.Blobs != 0 || len(r.Dropped) != 0 {
		w.Fatalf("expired %+v", r)
	}
	w.get("c")
	w.totals(0, 1, 2, 0)
}

func expireDied(w *world) {
	w.putTTL("a", "body", 2*time.Minute)
	w.putTTL("b", "body", time.Minute)
	id, last := w.onlyBlob("a").ID, w.now().Add(2*time.Minute)
	w.later(time.Hour)
	equal(w, "expired", must(w.Expire(w.ctx, ledger.Batch{}))(w).Objects, 2)
	equal(w, "died", w.row(id).DiedAt, last)
}

func expireBacklog(w *world) {
	equal(w, "backlog", must(w.ExpireBacklog(w.ctx))(w), ledger.Backlog{})
	w.putTTL("a", "body", time.Minute)
	w.putTTL("b", "body!", 2*time.Minute)
	w.putTTL("c", "body!!", 3*time.Minute)
	w.put("d", "stays")
	first := w.now().Add(time.Minute)
	equal(w, "backlog", must(w.ExpireBacklog(w.ctx))(w), ledger.Backlog{NextDue: first, Scheduled: 3})
	w.later(2 * time.Minute)
	equal(w, "backlog", must(w.ExpireBacklog(w.ctx))(w),
		ledger.Backlog{Count: 2, Bytes: 9, Oldest: first, NextDue: w.now().Add(time.Minute), Scheduled: 1})
}

// expireRewritten: an object written again, or given a longer life, is no longer the due
// one.
func expireRewritten(w *world) {
	w.putTTL("a", "body", time.Minute)
	w.putTTL("b", "body", time.Minute)
	w.later(time.Second)
	w.put("a", "again")
	must(w.Update(w.ctx, ledger.Update{Op: w.id(), Bucket: bucketName, Key: "b", TTL: &ledger.TTLChange{TTL: time.Hour}}))(w)
	w.later(time.Minute)
	equal(w, "expired", must(w.Expire(w.ctx, ledger.Batch{}))(w).Objects, 0)
	w.get("a")
	w.get("b")
}
