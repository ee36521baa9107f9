package routine_test

import (
	"testing"
	"time"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/plan"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/test/reclaimtest"
)

// A plan of what is evicted is carried out to its end, also where it is more than a batch.
func TestAPlanOfEvictionsTakesBatches(t *testing.T) {
	w := newWorld(t)
	_, err := w.Ledger.ConfigureBucket(w.Ctx, "b", ledger.BucketSettings{
		QuotaObjects: 5, Evict: ledger.Eviction{Order: ledger.EvictByRead, High: 90, Low: 40},
	})
	w.Must(err)
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		w.Put(key, "body of "+key)
	}
	w.Clock.Advance(time.Second)
	r := &routine.Evict{Ledger: w.Ledger, Batch: ledger.Batch{Limit: 5, MaxBlobs: 1}}
	list := w.items(r)
	reclaimtest.Want(w, "planned", len(list), 3)
	results, err := r.Apply(w.Ctx, "me", list, func(string, int64) {})
	w.Must(err)
	done := 0
	for _, res := range results {
		if res.Outcome == plan.Done {
			done++
		}
	}
	reclaimtest.Want(w, "done", done, 3)
}
