package routine_test

import (
	"context"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/plan"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/test/reclaimtest"
)

// A plan of what is evicted is carried out to its end, also where it is more than a batch.
func TestAPlanOfEvictionsTakesBatches(t *testing.T) {
	w := newWorld(t)
	_, err := w.Ledger.ConfigureBucket(w.Ctx, "b", ledger.BucketSettings{
		QuotaObjects: 5, Evict: ledger.Eviction{Order: ledger.EvictByRead, High: 90, Low: 40},
	}, nil)
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

// The object used last is neither planned nor evicted, and no bucket waits for it.
func TestTheOnlyObjectIsNotEvicted(t *testing.T) {
	w := newWorld(t)
	_, err := w.Ledger.ConfigureBucket(w.Ctx, "b", ledger.BucketSettings{
		QuotaBytes: 12, Evict: ledger.Eviction{Order: ledger.EvictByRead, High: 90, Low: 40},
	}, nil)
	w.Must(err)
	w.Put("a", "1")
	w.Clock.Advance(time.Second)
	w.Put("large", "11 bytes ..")
	w.Clock.Advance(time.Second)
	r := &routine.Evict{Ledger: w.Ledger, Batch: ledger.Batch{Limit: 5}}
	list := w.items(r)
	reclaimtest.Want(w, "planned", len(list), 1)
	reclaimtest.Want(w, "first", list[0].Key, "a")
	step := r.Pass("me")
	for more := true; more; {
		more, err = step(w.Ctx, func(string, int64) {})
		w.Must(err)
	}
	reclaimtest.Want(w, "planned then", len(w.items(r)), 0)
	waits, err := r.HasBacklog(w.Ctx)
	w.Must(err)
	reclaimtest.Want(w, "waits", waits, false)
}

// inUse is a ledger whose candidates are all being changed by others.
type inUse struct {
	routine.EvictLedger
	asked int
}

func (l *inUse) Evict(context.Context, ledger.EvictRequest) (ledger.Evicted, error) {
	l.asked++
	return ledger.Evicted{Reclaimed: ledger.Reclaimed{More: true}, Busy: 3}, nil
}

// A pass leaves a bucket to the next one where others are changing all that may go.
func TestAPassLeavesWhatIsInUse(t *testing.T) {
	w := newWorld(t)
	_, err := w.Ledger.ConfigureBucket(w.Ctx, "b", ledger.BucketSettings{
		QuotaObjects: 2, Evict: ledger.Eviction{Order: ledger.EvictByRead, High: 90, Low: 40},
	}, nil)
	w.Must(err)
	w.Put("a", "1")
	w.Put("b", "2")
	l := &inUse{EvictLedger: w.Ledger}
	more, err := (&routine.Evict{Ledger: l, Batch: ledger.Batch{Limit: 5}}).Pass("me")(w.Ctx, func(string, int64) {})
	w.Must(err)
	reclaimtest.Want(w, "more", more, false)
	reclaimtest.Want(w, "asked", l.asked, 1)
}

// A limit that has tripped stops evictions, and a plan says so.
func TestALimitStopsEvictions(t *testing.T) {
	w := newWorld(t)
	_, err := w.Ledger.ConfigureBucket(w.Ctx, "b", ledger.BucketSettings{
		QuotaObjects: 4, Evict: ledger.Eviction{Order: ledger.EvictByRead, High: 90, Low: 40},
	}, nil)
	w.Must(err)
	for _, key := range []string{"a", "b", "c", "d"} {
		w.Put(key, "body of "+key)
	}
	w.Clock.Advance(time.Second)
	var tripped []ledger.LimitState
	r := &routine.Evict{
		Ledger: w.Ledger, Batch: ledger.Batch{Limit: 5, Limits: ledger.Limits{TTL: ledger.Limit{Ask: 1}}},
		Events: &reclaim.Events{Tripped: func(g ledger.LimitState) { tripped = append(tripped, g) }},
	}
	more, err := r.Pass("me")(w.Ctx, func(string, int64) {})
	w.Must(err)
	reclaimtest.Want(w, "more", more, false)
	reclaimtest.Want(w, "tripped", len(tripped), 1)
	list := w.items(r)
	reclaimtest.Want(w, "listed", len(list), 3)
	reclaimtest.Want(w, "why it stays", list[0].Stays, tripped[0].Reason)
}
