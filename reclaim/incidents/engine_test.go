package incidents_test

import (
	"errors"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/reclaim"
)

// limit is the engine's batch size: small, so that a pass has several steps.
const limit = 3

func (w *world) stores() map[string]blob.Store { return map[string]blob.Store{backend: w.disk} }

func (w *world) clean() *reclaim.Clean {
	return &reclaim.Clean{Ledger: w.ledger, Stores: w.stores(), Store: w.store, Safety: w.safety, Limit: limit, Clock: w.clock}
}

func (w *world) expire() *reclaim.Expire {
	return &reclaim.Expire{Ledger: w.ledger, Batch: meta.Batch{Limit: limit, MaxBlobs: 2 * limit}}
}

func (w *world) watch() *reclaim.Watch {
	return &reclaim.Watch{Ledger: w.ledger, Safety: w.safety, Limit: limit}
}

func (w *world) reap() *reclaim.Reap {
	return &reclaim.Reap{Ledger: w.ledger, Stores: w.stores(), Store: w.store, Safety: w.safety, Limit: limit}
}

// routines is the engine: everything that can reclaim.
func (w *world) routines() []reclaim.Routine {
	return []reclaim.Routine{
		w.expire(), w.reap(),
		&reclaim.Uploads{Ledger: w.ledger, Safety: w.safety, Limit: limit},
		&reclaim.Purge{Ledger: w.ledger, Batch: meta.Batch{Limit: limit}},
		w.watch(), w.clean(),
	}
}

// verify is the fsck, telling each problem to report.
func (w *world) verify(report func(reclaim.Problem)) *reclaim.Verify {
	return &reclaim.Verify{Ledger: w.ledger, Stores: w.stores(), Store: w.store, Checksums: true, Limit: limit, Report: report}
}

// try runs a routine to its end or its first error, and answers its counts.
func (w *world) try(r reclaim.Routine) (map[string]int64, error) {
	w.Helper()
	counts := &reclaim.Counts{}
	step := r.Pass("worker")
	for range 10_000 {
		more, err := step(w.ctx, counts)
		if err != nil || !more {
			return counts.Map(), err
		}
	}
	w.Fatalf("%s does not come to an end: %v", r.Name(), counts.Map())
	return nil, nil
}

func (w *world) pass(r reclaim.Routine) map[string]int64 {
	w.Helper()
	counts, err := w.try(r)
	w.must(err)
	return counts
}

// engine runs every routine once; what fails is tried again by a later pass.
func (w *world) engine() (failed error) {
	for _, r := range w.routines() {
		_, err := w.try(r)
		failed = errors.Join(failed, err)
	}
	return failed
}

// blobs lists the ledger's rows in the states, all if none is named.
func (w *world) blobs(states ...lethe.State) []meta.Blob {
	w.Helper()
	rows, err := w.ledger.ledger.Blobs(w.ctx, meta.BlobQuery{States: states, Limit: 10_000})
	w.must(err)
	return rows
}

// keys lists what really lies on the backend.
func (w *world) keys() (keys []string) {
	w.Helper()
	w.must(w.bytes.List(w.ctx, "", "", func(i blob.Info) error {
		keys = append(keys, i.Key)
		return nil
	}))
	return keys
}

// requeue plays the operator who looks after the dead letters.
func (w *world) requeue() int {
	w.Helper()
	var ids []lethe.ID
	for _, b := range w.blobs(lethe.Dead) {
		ids = append(ids, b.ID)
	}
	n, err := w.ledger.Requeue(w.ctx, ids)
	w.must(err)
	return n
}

// ends stops the faults and lets the engine run until nothing can be due any
// more. Then exactly these objects must be readable, the books equal a recount,
// the backend hold what is alive and nothing else, and fsck find nothing.
func (w *world) ends(alive map[string]string) {
	w.Helper()
	w.heal()
	w.landLate()
	for range 5 {
		w.clock.Advance(w.safety.MultipartStale + time.Hour)
		w.must(w.engine())
	}
	for at, body := range alive {
		w.has(at, body)
	}
	w.counted(alive)
	wrong, err := w.ledger.Recount(w.ctx)
	w.must(err)
	for _, d := range wrong {
		w.Errorf("the books are wrong: %+v", d)
	}
	rows, live := w.blobs(), w.blobs(lethe.Live)
	if len(rows) != len(live) || len(w.keys()) != len(live) {
		w.Errorf("%d blobs live, but there are %d rows, and %d keys on the backend: %v", len(live), len(rows), len(w.keys()), rows)
	}
	w.pass(w.verify(func(p reclaim.Problem) { w.Errorf("fsck found %s", p) }))
}

// counted fails unless the buckets list exactly these objects.
func (w *world) counted(alive map[string]string) {
	w.Helper()
	for _, bucket := range []string{"b", "b2"} {
		want := 0
		for at := range alive {
			if strings.HasPrefix(at, bucket+"/") {
				want++
			}
		}
		page, err := w.objects.List(w.ctx, meta.ListQuery{Bucket: bucket, Limit: 1000})
		w.must(err)
		equal(w, "objects in bucket "+bucket, len(page.Objects), want)
	}
}
