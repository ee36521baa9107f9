package reconcile_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/memledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/pairing"
	"github.com/lethe-storage/lethe/reclaim/reconcile"
	"github.com/lethe-storage/lethe/test/clocktest"
)

const (
	grace  = 48 * time.Hour
	bucket = "b"
)

// world is a ledger and two backends in memory, "main" and "spare"; fault decides
// what calls to main do.
type world struct {
	*testing.T
	ctx     context.Context
	clock   *clocktest.Clock
	ledger  *memledger.DB
	main    *memblob.Store
	spare   *memblob.Store
	fault   func(blobtest.Call) blobtest.Fault
	stores  map[string]blob.Store
	store   lethe.ID
	pairing *pairing.Pairing
	set     func(*reconcile.Options)
	found   []ledger.Finding
	events  reconcile.Events
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		T: t, ctx: t.Context(), clock: clocktest.At(1_000_000_000_000_000), main: memblob.New(memblob.Options{}), spare: memblob.New(memblob.Options{}),
		fault: func(blobtest.Call) blobtest.Fault { return blobtest.Fault{} }, set: func(*reconcile.Options) {},
	}
	w.ledger = memledger.New(ledger.Options{Clock: w.clock, ReadGrace: time.Minute, LateWindow: time.Hour})
	w.stores = map[string]blob.Store{
		"main":  blobtest.NewFaulty(w.main, func(c blobtest.Call) blobtest.Fault { return w.fault(c) }),
		"spare": w.spare,
	}
	store, err := w.ledger.Identity(w.ctx)
	w.must(err)
	w.store = store.ID
	raw := map[string]blob.Store{"main": w.main, "spare": w.spare}
	w.pairing = &pairing.Pairing{Ledger: w.ledger, Stores: raw, Clock: w.clock}
	for id := range w.stores {
		_, err = w.ledger.AddBackend(w.ctx, ledger.Backend{ID: id})
		w.must(err)
		w.must(w.pairing.Advance(w.ctx, id))
	}
	_, err = w.ledger.CreateBucket(w.ctx, ledger.Bucket{Name: bucket, Owner: "me"})
	w.must(err)
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) later(d time.Duration) { w.clock.Advance(d) }
func (w *world) id() lethe.ID          { return lethe.RandomID(w.clock.Now()) }
func (w *world) key(id lethe.ID) string {
	return lethe.BlobKey(w.store, id)
}

// routine makes the routine as the test has set it.
func (w *world) routine() *reconcile.Routine {
	w.found = nil
	o := reconcile.Options{
		Ledger: w.ledger, Stores: w.stores, Pairing: w.pairing, Store: w.store, Clock: w.clock, NewID: w.id, Grace: grace,
		Events: &w.events, Report: func(f ledger.Finding) { w.found = append(w.found, f) },
	}
	w.set(&o)
	return reconcile.New(o)
}

// try runs the routine to its end, and returns its counts.
func (w *world) try() (map[string]int64, error) {
	w.Helper()
	return w.pass(w.routine())
}

// pass runs a routine to its end.
func (w *world) pass(r *reconcile.Routine) (map[string]int64, error) {
	counts := &reclaim.Counts{}
	step := r.Pass("worker")
	for more := true; more; {
		var err error
		if more, err = step(w.ctx, counts.Add); err != nil {
			return counts.Map(), err
		}
	}
	return counts.Map(), nil
}

func (w *world) run() map[string]int64 {
	w.Helper()
	counts, err := w.try()
	w.must(err)
	return counts
}

// put stores an object as a writer does, on main, with a copy on spare if asked.
func (w *world) put(key, body string, copies int) lethe.ID {
	w.Helper()
	id, content := w.putIn(bucket, key, body)
	if copies > 1 {
		w.copied(id, content, body)
	}
	return id
}

// putIn stores an object on main.
func (w *world) putIn(bucket, key, body string) (id, content lethe.ID) {
	w.Helper()
	size := int64(len(body))
	sum := sha256.Sum256([]byte(body))
	digest := hex.EncodeToString(sum[:])
	id = w.id()
	_, err := w.ledger.Begin(w.ctx, ledger.Intent{ID: id, Backend: "main", Size: size})
	w.must(err)
	w.must(w.main.Put(w.ctx, w.key(id), strings.NewReader(body), size))
	out, err := w.ledger.Commit(w.ctx, ledger.Commit{
		Op: w.id(), What: "put", Object: ledger.Object{Bucket: bucket, Key: key, Size: size},
		Content: ledger.ContentKey{Kind: lethe.Whole, Digest: digest, Size: size},
		Blobs:   []ledger.Uploaded{{Blob: id, Size: size, Digest: digest}},
	})
	w.must(err)
	return id, out.Object.ContentID
}

// copied makes one more copy of a blob on spare, as placement does.
func (w *world) copied(of, content lethe.ID, body string) {
	w.Helper()
	_, err := w.ledger.QueuePlacements(w.ctx, []ledger.Subject{{ID: content}})
	w.must(err)
	claimed, err := w.ledger.ClaimPlacements(w.ctx, ledger.PlacementClaim{Worker: "w", Limit: 100, Lease: time.Minute})
	w.must(err)
	row, _ := w.ledger.Blob(of)
	id := w.id()
	_, err = w.ledger.BeginCopy(w.ctx, ledger.CopyIntent{ID: id, Backend: "spare", Source: of, Fence: claimed.Fence, Lease: time.Minute})
	w.must(err)
	w.must(w.spare.Put(w.ctx, w.key(id), strings.NewReader(body), row.Size))
	w.must(w.ledger.CommitCopy(w.ctx, ledger.CopyCommit{Blob: id, Source: of, Digest: row.Digest, Fence: claimed.Fence}))
	var results []ledger.PlacementResult
	for _, p := range claimed.Items {
		results = append(results, ledger.PlacementResult{ID: p.ID, Done: true})
	}
	_, err = w.ledger.SettlePlacements(w.ctx, claimed.Fence, results)
	w.must(err)
}

// plant puts bytes without a row on main, as if they had been written now.
func (w *world) plant() lethe.ID {
	id := w.id()
	w.main.Set(w.key(id), []byte("orphan"))
	return id
}

// want fails unless the counts are these, zeros left out and progress aside.
func (w *world) want(have map[string]int64, want map[string]int64) {
	w.Helper()
	for _, name := range []string{
		reconcile.Orphans, reconcile.Condemned, reconcile.Foreign, reconcile.Elsewhere, reconcile.Missing, reconcile.WrongSize,
		reconcile.Lost, reconcile.Healing, reconcile.Healed, reconcile.Skipped, reconcile.HeldBack, reconcile.RipeCount,
		reconcile.Taken, reconcile.WouldTake,
	} {
		if have[name] != want[name] {
			w.Errorf("%s is %d, want %d (of %v)", name, have[name], want[name], have)
		}
	}
	found, err := w.ledger.Recount(w.ctx)
	w.must(err)
	for _, d := range found {
		w.Errorf("the books are wrong: %+v", d)
	}
}

func (w *world) state(id lethe.ID) lethe.State {
	row, _ := w.ledger.Blob(id)
	return row.State
}

// fails checks the kind of an error.
func (w *world) fails(err, kind error) {
	w.Helper()
	if !errors.Is(err, kind) {
		w.Fatalf("error is %v, want %v", err, kind)
	}
}

type counts = map[string]int64
