package reclaim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
)

// A plan of what expires, and of the trash, is what a run does, also for rows that
// a hold keeps and no run has deferred yet. A run that left only those is not
// reported as limited.
func TestPlansLeaveOutWhatAHoldKeeps(t *testing.T) {
	w := newWorld(t)
	_, err := w.ledger.ConfigureBucket(w.ctx, "b", ledger.BucketSettings{Undo: time.Minute})
	w.must(err)
	for _, key := range []string{"free", "held"} {
		w.put(key, "trash "+key)
		w.remove(key)
		c := w.commit(key, "object "+key, w.intent(key, "object "+key, false))
		c.TTL = time.Minute
		_, err := w.ledger.Commit(w.ctx, c)
		w.must(err)
	}
	hold := ledger.Hold{Bucket: "b", Scope: ledger.HoldObject, Key: "held", Reason: "audit"}
	_, err = w.ledger.AddHold(w.ctx, hold)
	w.must(err)
	w.clock.Advance(2 * time.Minute)
	for name, r := range map[string]interface {
		reclaim.Planner
		reclaim.Backlogged
	}{
		"expire": &reclaim.Expire{Ledger: w.ledger, Plans: w.ledger, Batch: ledger.Batch{Limit: 1}},
		"purge":  &reclaim.Purge{Ledger: w.ledger, Plans: w.ledger, Batch: ledger.Batch{Limit: 1}},
	} {
		list := w.items(r)
		want(w, name+" plans", fmt.Sprint(len(list), " ", list[0].Key), "1 free")
		results, err := r.Apply(w.ctx, "me", list, &reclaim.Counts{})
		w.must(err)
		want(w, name+" did", string(results[0].Outcome), "done")
		left, err := r.HasBacklog(w.ctx)
		w.must(err)
		want(w, name+" left something", left, false)
	}
}
