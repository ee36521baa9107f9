package incidents_test

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/placement"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/pairing"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// limit is the engine's batch size: small, so that a pass has several steps.
const limit = 3

func (w *world) stores() map[string]blob.Store { return w.disks }

func (w *world) clean() *routine.Clean {
	return &routine.Clean{Ledger: w.ledger, Stores: w.stores(), Store: w.store, Safety: w.safety, Limit: limit, Clock: w.clock}
}

func (w *world) expire() *routine.Expire {
	return &routine.Expire{Ledger: w.ledger, Batch: ledger.Batch{Limit: limit, MaxBlobs: 2 * limit}}
}

func (w *world) watch() *routine.Watch {
	return &routine.Watch{Ledger: w.ledger, Safety: w.safety, Limit: limit}
}

func (w *world) reap() *routine.Reap {
	return &routine.Reap{Ledger: w.ledger, Stores: w.stores(), Store: w.store, Safety: w.safety, Limit: limit}
}

// routines is the engine: everything that can reclaim.
func (w *world) routines() []reclaim.Routine {
	all := []reclaim.Routine{
		w.expire(), w.reap(),
		&routine.Uploads{Ledger: w.ledger, Safety: w.safety, Limit: limit},
		&routine.Purge{Ledger: w.ledger, Batch: ledger.Batch{Limit: limit}},
		w.watch(), w.clean(),
	}
	if len(w.order) > 1 {
		o := w.placing()
		all = append(all, placement.NewDrain(o), placement.NewReplicate(o))
	}
	return all
}

// placing is what is wanted of copies.
func (w *world) placing() placement.Options {
	return placement.Options{
		Ledger: ledgertest.ForPlacement(w.ledger), Stores: w.stores(), Store: w.store, Order: w.order, Replicas: w.replicas, Clock: w.clock, NewID: w.newID,
		Health: func(id string) error {
			if id == w.down {
				return blob.ErrDown
			}
			return nil
		},
	}
}

func (w *world) newID() lethe.ID { return lethe.RandomID(w.clock.Now()) }

// verify is the fsck, telling each problem to report.
func (w *world) verify(report func(reclaim.Problem)) *routine.Verify {
	return &routine.Verify{Ledger: w.ledger, Stores: w.stores(), Store: w.store, Checksums: true, Limit: limit, Report: report}
}

// try runs a routine to its end or its first error, and answers its counts.
func (w *world) try(r reclaim.Routine) (map[string]int64, error) {
	w.Helper()
	counts := &reclaim.Counts{}
	step := r.Pass("worker")
	for range 10_000 {
		more, err := step(w.ctx, counts.Add)
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
func (w *world) blobs(states ...lethe.State) []ledger.Blob {
	w.Helper()
	rows, err := w.ledger.wholeLedger.Blobs(w.ctx, ledger.BlobQuery{States: states, Limit: 10_000})
	w.must(err)
	return rows
}

// keys lists what really lies on the backend.
func (w *world) keys() []string { return w.keysOn(backend) }

// keysOn does so for any backend; the guard's own are left out.
func (w *world) keysOn(id string) (keys []string) {
	w.Helper()
	w.must(w.lies[id].List(w.ctx, "", "", func(i blob.Info) error {
		if !pairing.IsKey(w.store, i.Key) {
			keys = append(keys, i.Key)
		}
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
	w.lives()
	w.pass(w.verify(func(p reclaim.Problem) {
		if p.Kind != "foreign" || !slices.Contains(w.theirs, p.Name) {
			w.Errorf("fsck found %s", p)
		}
	}))
}

// lives fails unless all rows are of living blobs, and the backends hold just
// those, and what is not ours.
func (w *world) lives() {
	w.Helper()
	want := map[string][]string{backend: slices.Clone(w.theirs)}
	for _, b := range w.blobs() {
		if b.State != lethe.Live {
			w.Errorf("blob %s is still %s: %s", b.ID, b.State, b.LastError)
		}
		want[b.Backend] = append(want[b.Backend], lethe.BlobKey(w.store, b.ID))
	}
	for _, id := range w.order {
		slices.Sort(want[id])
		if keys := w.keysOn(id); !slices.Equal(keys, want[id]) {
			w.Errorf("on backend %s lies %q, want %q", id, keys, want[id])
		}
	}
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
		page, err := w.objects.List(w.ctx, ledger.ListQuery{Bucket: bucket, Limit: 1000})
		w.must(err)
		equal(w, "objects in bucket "+bucket, len(page.Objects), want)
	}
}
