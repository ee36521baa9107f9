package reclaim_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	"github.com/lethe-storage/lethe/test/clocktest"
)

// world is a ledger and one backend, "main", in memory; fault decides what its
// calls do.
type world struct {
	*testing.T
	ctx    context.Context
	clock  *clocktest.Clock
	ledger *memledger.DB
	bytes  *memblob.Store
	fault  func(blobtest.Call) blobtest.Fault
	stores map[string]blob.Store
	store  lethe.ID
	safety reclaim.Safety
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		T: t, ctx: t.Context(), clock: clocktest.At(1_000_000_000_000_000), bytes: memblob.New(memblob.Options{}),
		safety: reclaim.Safety{Attempts: 3}.WithDefaults(),
		fault:  func(blobtest.Call) blobtest.Fault { return blobtest.Fault{} },
	}
	w.ledger = memledger.New(ledger.Options{Clock: w.clock, ReadGrace: time.Minute, LateWindow: time.Hour})
	w.stores = map[string]blob.Store{
		"main": blobtest.NewFaulty(w.bytes, func(c blobtest.Call) blobtest.Fault { return w.fault(c) }),
	}
	store, err := w.ledger.Identity(w.ctx)
	w.must(err)
	w.store = store.ID
	_, err = w.ledger.AddBackend(w.ctx, ledger.Backend{ID: "main"})
	w.must(err)
	_, err = w.ledger.CreateBucket(w.ctx, ledger.Bucket{Name: "b", Owner: "me"})
	w.must(err)
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) id() lethe.ID { return lethe.RandomID(w.clock.Now()) }

func digest(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// commit is what a writer of the body under the key would commit.
func (w *world) commit(key, body string, b lethe.ID) ledger.Commit {
	size := int64(len(body))
	return ledger.Commit{
		Op: w.id(), What: "put", Object: ledger.Object{Bucket: "b", Key: key, Size: size},
		Content: ledger.ContentKey{Kind: lethe.Whole, Digest: digest(body), Size: size},
		Blobs:   []ledger.Uploaded{{Blob: b, Size: size, Digest: digest(body)}},
	}
}

// intent begins a write; fixed: size and digest are promised beforehand.
func (w *world) intent(key, body string, fixed bool) lethe.ID {
	w.Helper()
	in := ledger.Intent{ID: w.id(), Backend: "main", Size: int64(len(body))}
	if fixed {
		in.Promotion = &ledger.Promotion{Commit: w.commit(key, body, in.ID)}
	}
	_, err := w.ledger.Begin(w.ctx, in)
	w.must(err)
	return in.ID
}

// upload sends bytes under a blob's name.
func (w *world) upload(b lethe.ID, body string) {
	w.Helper()
	w.must(w.bytes.Put(w.ctx, w.name(b), strings.NewReader(body), int64(len(body))))
}

func (w *world) name(b lethe.ID) string { return lethe.BlobKey(w.store, b) }

// put stores an object as a writer does.
func (w *world) put(key, body string) lethe.ID {
	w.Helper()
	b := w.intent(key, body, false)
	w.upload(b, body)
	_, err := w.ledger.Commit(w.ctx, w.commit(key, body, b))
	w.must(err)
	return b
}

// remove deletes an object, and waits until its bytes may go.
func (w *world) remove(keys ...string) {
	w.Helper()
	d := ledger.Deletion{Op: w.id(), Bucket: "b"}
	for _, k := range keys {
		d.Items = append(d.Items, ledger.DeleteItem{Key: k})
	}
	_, err := w.ledger.Delete(w.ctx, d)
	w.must(err)
	w.clock.Advance(time.Minute)
}

// pass runs a routine until nothing is due, and returns its counts.
func (w *world) pass(r reclaim.Routine) map[string]int64 {
	w.Helper()
	counts := &reclaim.Counts{}
	step := r.Pass("worker")
	for more := true; more; {
		var err error
		more, err = step(w.ctx, counts)
		w.must(err)
	}
	return counts.Map()
}

// state is a blob's, 0 if its row is gone.
func (w *world) state(b lethe.ID) lethe.State {
	row, _ := w.ledger.Blob(b)
	return row.State
}

// want fails unless a count is n.
func want[T comparable](w *world, what string, got, n T) {
	w.Helper()
	if got != n {
		w.Errorf("%s is %v, want %v", what, got, n)
	}
}

// sound fails unless the ledger's counts are right.
func (w *world) sound() {
	w.Helper()
	found, err := w.ledger.Recount(w.ctx)
	w.must(err)
	for _, d := range found {
		w.Errorf("the books are wrong: %+v", d)
	}
}
