package ledgertest

import (
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func verifyTests() []test {
	return []test{
		{name: "totals", run: totals},
		{name: "blobs by page", run: blobPages},
		{name: "blobs by id", run: blobsByID},
		{name: "suspect", run: markSuspect},
		{name: "verified since a read began", run: verifiedSince},
		{name: "suspect is for the living", run: markDead},
		{name: "a life", run: life},
	}
}

func totals(w *world) {
	must(w.AddBackend(w.ctx, ledger.Backend{ID: "another"}))(w)
	equal(w, "totals", len(must(w.Totals(w.ctx))(w)), 0)
	w.begin("pending")
	w.put("k", "live")
	must(w.Begin(w.ctx, ledger.Intent{ID: w.id(), Backend: "another", Size: 3}))(w)
	equal(w, "totals", plain(must(w.Totals(w.ctx))(w)), plain([]ledger.Total{
		{Backend: "another", State: lethe.Pending, Blobs: 1, Bytes: 3},
		{Backend: disk, State: lethe.Pending, Blobs: 1, Bytes: 7},
		{Backend: disk, State: lethe.Live, Blobs: 1, Bytes: 4},
	}))
	c := w.written("l", "exact")
	w.ok(w.Beat(w.ctx, c.Blobs[0].Blob, 100))
	_, reserved := w.bytes(lethe.Pending)
	equal(w, "reserved", reserved, 110)
	w.commit(c)
	_, live := w.bytes(lethe.Live)
	equal(w, "live", live, 9)
}

func blobPages(w *world) {
	a, b := w.begin("a"), w.begin("b")
	w.later(time.Second)
	w.put("k", "live")
	c := w.onlyBlob("k").ID
	page := func(q ledger.BlobQuery) string { return fmt.Sprint(blobIDs(must(w.Blobs(w.ctx, q))(w))) }
	ids := []lethe.ID{min(a, b), max(a, b), c}
	equal(w, "all", page(ledger.BlobQuery{}), fmt.Sprint(ids))
	equal(w, "page", page(ledger.BlobQuery{After: ids[0], Limit: 1}), fmt.Sprint(ids[1:2]))
	equal(w, "live", page(ledger.BlobQuery{States: []lethe.State{lethe.Live, lethe.Dead}}), fmt.Sprint(ids[2:]))
	equal(w, "elsewhere", page(ledger.BlobQuery{Backend: "tape"}), "[]")
}

func blobsByID(w *world) {
	a, b := w.begin("a"), w.begin("b")
	rows := must(w.BlobsByID(w.ctx, []lethe.ID{b, w.id(), a, a}))(w)
	equal(w, "rows", len(rows), 2)
	equal(w, "none", len(must(w.BlobsByID(w.ctx, nil))(w)), 0)
}

func markSuspect(w *world) {
	w.put("k", "body")
	id := w.onlyBlob("k").ID
	equal(w, "marked", must(w.MarkSuspect(w.ctx, []lethe.ID{id, id}, "missing"))(w), 1)
	b := w.row(id)
	if !b.Suspect || b.LastError != "missing" || b.VerifiedAt != 0 || b.State != lethe.Live {
		w.Fatalf("blob is %+v", b)
	}
	equal(w, "still read", w.onlyBlob("k").ID, id)
	w.later(time.Second)
	equal(w, "marked", must(w.MarkSound(w.ctx, []lethe.ID{id}, 0))(w), 1)
	b = w.row(id)
	if b.Suspect || b.LastError != "" || b.VerifiedAt != w.now() {
		w.Fatalf("blob is %+v", b)
	}
	must(w.MarkSuspect(w.ctx, []lethe.ID{id}, "again"))(w)
	equal(w, "verified", w.row(id).VerifiedAt, w.now())
}

// verifiedSince: a verification counts from the beginning of its read, and a later end of an
// earlier read does not set it back.
func verifiedSince(w *world) {
	w.put("k", "body")
	id := w.onlyBlob("k").ID
	w.later(time.Hour)
	equal(w, "marked", must(w.MarkSound(w.ctx, []lethe.ID{id}, 20*time.Minute))(w), 1)
	since := w.now().Add(-20 * time.Minute)
	equal(w, "verified", w.row(id).VerifiedAt, since)
	equal(w, "marked", must(w.MarkSound(w.ctx, []lethe.ID{id}, time.Hour))(w), 1)
	equal(w, "verified by one that began before", w.row(id).VerifiedAt, since)
}

func markDead(w *world) {
	pending := w.begin("pending")
	corpse := w.corpses(1)[0]
	w.unchanged(func() {
		ids := []lethe.ID{pending, corpse, w.id()}
		equal(w, "marked", must(w.MarkSuspect(w.ctx, ids, "x"))(w), 0)
		equal(w, "marked", must(w.MarkSound(w.ctx, ids, 0))(w), 0)
	})
}

// life follows bytes from the intent to their removal, with a recount at each step.
func life(w *world) {
	u := w.open("m")
	for _, step := range []func(){
		func() { w.begin("never finished") },
		func() { w.putTTL("a", "shared", time.Hour) },
		func() { w.put("b", "shared") },
		func() { w.part(u, 1, "part") },
		func() { w.finish(u, "whole", w.part(u, 2, "other part")) },
		func() { w.remove("b") },
		func() { w.later(time.Hour) },
		func() { must(w.Expire(w.ctx, ledger.Batch{}))(w) },
		func() {
			in := w.silent()
			w.ok(w.CondemnIntent(w.ctx, in.Fence, in.Intents[0].Blob.ID))
		},
		func() { w.clean() },
		func() { w.remove("m") },
		func() { w.later(2 * lateWindow) },
		func() { w.clean() },
	} {
		step()
		w.sound()
	}
	w.totals(0, 0, 0, 0)
}
