package routine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/test/reclaimtest"
)

// A plan of what expires, and of the trash, is what a run does, also for rows that
// a hold keeps and no run has deferred yet. A run that left only those is not
// reported as limited.
func TestPlansLeaveOutWhatAHoldKeeps(t *testing.T) {
	w := newWorld(t)
	_, err := w.Ledger.ConfigureBucket(w.Ctx, "b", ledger.BucketSettings{Undo: time.Minute})
	w.Must(err)
	for _, key := range []string{"free", "held"} {
		w.Put(key, "trash "+key)
		w.Remove(key)
		c := w.Commit(key, "object "+key, w.Intent(key, "object "+key, false))
		c.TTL = time.Minute
		_, err := w.Ledger.Commit(w.Ctx, c)
		w.Must(err)
	}
	hold := ledger.Hold{Bucket: "b", Scope: ledger.HoldObject, Key: "held", Reason: "audit"}
	_, err = w.Ledger.AddHold(w.Ctx, hold)
	w.Must(err)
	w.Clock.Advance(2 * time.Minute)
	for name, r := range map[string]interface {
		reclaim.Planner
		reclaim.Backlogged
	}{
		"expire": &routine.Expire{Ledger: w.Ledger, Plans: w.Ledger, Batch: ledger.Batch{Limit: 1}},
		"purge":  &routine.Purge{Ledger: w.Ledger, Plans: w.Ledger, Batch: ledger.Batch{Limit: 1}},
	} {
		list := w.items(r)
		reclaimtest.Want(w, name+" plans", fmt.Sprint(len(list), " ", list[0].Key), "1 free")
		results, err := r.Apply(w.Ctx, "me", list, func(string, int64) {})
		w.Must(err)
		reclaimtest.Want(w, name+" did", string(results[0].Outcome), "done")
		left, err := r.HasBacklog(w.Ctx)
		w.Must(err)
		reclaimtest.Want(w, name+" left something", left, false)
	}
}
