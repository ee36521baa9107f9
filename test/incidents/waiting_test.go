package incidents_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/reconcile"
)

// s3-orchestrator #843: the backend answered 404 to the deletion of what was not
// there, which was taken for a failure, nine times, and made a dead letter. Here what
// is not there is gone.
func TestOrchestrator843_NotThereIsTakenForAFailure(t *testing.T) {
	each(t, func(w *world) {
		w.condemnSome(2 * limit)
		_, err := w.bytes.Delete(w.ctx, w.keys()) // behind everybody's back
		w.must(err)
		equal(w, "gone", w.pass(w.clean())["gone"], 2*limit)
		equal(w, "rows left", len(w.blobs()), 0)
		w.ends(nil)
	})

	harmed(t, func(absent bool) bool {
		attempts, status := 0, 204
		if absent {
			status = 404
		}
		for range 10 {
			if status == 204 {
				break
			}
			attempts++
		}
		return attempts >= 9
	})
}

// SeaweedFS #8823, #8757: the store of metadata expired the row by itself, and nobody
// was left who knew the chunks. Here a row past its time is hidden, and stays until a
// transaction deletes it and condemns its bytes.
func TestSeaweedFS8823_TheRowExpiresByItself(t *testing.T) {
	each(t, func(w *world) {
		alive := w.fill("b2", 2)
		for i := range 2 * limit {
			body := fmt.Sprint("expires ", i)
			_, err := w.objects.Put(w.ctx, object.PutRequest{
				Bucket: "b", Key: body, Body: strings.NewReader(body), Size: int64(len(body)), TTL: time.Hour,
			})
			w.must(err)
		}
		w.clock.Advance(time.Hour)
		w.hasNot("b/expires 0")
		equal(w, "live blobs while nobody has looked", len(w.blobs(lethe.Live)), len(alive)+2*limit)
		equal(w, "expired", w.pass(w.expire())["objects"], 2*limit)
		equal(w, "condemned", len(w.blobs(lethe.Condemned)), 2*limit)
		w.ends(alive)
	})

	n := newNaive()
	n.put("k", "chunk", "body")
	delete(n.rows, "k") // the compaction filter of the store
	n.leaks(t, "chunk")
}

// JuiceFS #5194: what waited to be deleted was reported as leaked, and frightened its
// owners, who deleted it by hand. Here what waits, is under way, or has failed for
// good has a row, and is no finding.
func TestJuiceFS5194_WhatWaitsIsCalledLeaked(t *testing.T) {
	reconciled.each(t, func(w *world) {
		alive := w.fill("b2", 2)
		w.condemnSome(limit)
		m := w.multipart("b/parts")
		m.part(1, "a part of an upload under way")
		look := func(when string) {
			w.pass(w.verify(func(p reclaim.Problem) { w.Errorf("%s fsck found %s", when, p) }))
			equal(w, "orphans "+when, w.walk()[reconcile.Orphans], 0)
		}
		look("while they wait")
		w.breaks(blobtest.OpDelete, blobtest.Fault{Kind: blobtest.NotDone})
		for range w.safety.Attempts {
			w.clock.Advance(time.Hour)
			w.pass(w.clean())
		}
		look("as dead letters")
		equal(w, "dead letters", len(w.blobs(lethe.Dead)), limit)
		w.heal()
		w.requeue()
		w.during("commit", func() { look("while one is written") })
		w.put("b/k", "written")
		alive["b/k"] = "written"
		w.ends(alive)
	})

	n := newNaive()
	n.bytes["waits"], n.queue = "body", []string{"waits"}
	leaked := 0
	for name := range n.bytes {
		if !n.named(name) { // the queue is not asked
			leaked++
		}
	}
	if leaked == 0 {
		t.Error("the naive design reported nothing: this scenario proves nothing")
	}
}
