// Package reclaimtest has a ledger and a backend in memory, for the tests of the engine's
// loop, of its routines and of the pairing.
package reclaimtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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
	"github.com/lethe-storage/lethe/test/clocktest"
)

// World is a ledger and one backend, "main", in memory. Fault decides what its
// calls do.
type World struct {
	*testing.T
	Ctx    context.Context
	Clock  *clocktest.Clock
	Ledger *memledger.DB
	Bytes  *memblob.Store
	Fault  func(blobtest.Call) blobtest.Fault
	Stores map[string]blob.Store
	Store  lethe.ID
	Safety reclaim.Safety
}

// New makes a world whose backend and bucket are registered.
func New(t *testing.T) *World {
	t.Helper()
	w := &World{
		T: t, Ctx: t.Context(), Clock: clocktest.At(1_000_000_000_000_000), Bytes: memblob.New(memblob.Options{}),
		Safety: reclaim.Safety{Attempts: 3}.WithDefaults(),
		Fault:  func(blobtest.Call) blobtest.Fault { return blobtest.Fault{} },
	}
	w.Ledger = memledger.New(ledger.Options{Clock: w.Clock, ReadGrace: time.Minute, MovedGrace: time.Minute, LateWindow: time.Hour})
	w.Stores = map[string]blob.Store{
		"main": blobtest.NewFaulty(w.Bytes, func(c blobtest.Call) blobtest.Fault { return w.Fault(c) }),
	}
	store, err := w.Ledger.Identity(w.Ctx)
	w.Must(err)
	w.Store = store.ID
	_, err = w.Ledger.AddBackend(w.Ctx, ledger.Backend{ID: "main"})
	w.Must(err)
	_, err = w.Ledger.CreateBucket(w.Ctx, ledger.Bucket{Name: "b", Owner: "me"})
	w.Must(err)
	return w
}

// Must ends the test if there is an error.
func (w *World) Must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// ID returns a new id.
func (w *World) ID() lethe.ID { return lethe.RandomID(w.Clock.Now()) }

// Digest returns the digest of a body as the ledger has it.
func Digest(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// Commit is what a writer of the body under the key would commit.
func (w *World) Commit(key, body string, b lethe.ID) ledger.Commit {
	size := int64(len(body))
	return ledger.Commit{
		Op: w.ID(), What: "put", Object: ledger.Object{Bucket: "b", Key: key, Size: size},
		Content: ledger.ContentKey{Kind: lethe.Whole, Digest: Digest(body), Size: size},
		Blobs:   []ledger.Uploaded{{Blob: b, Size: size, Digest: Digest(body)}},
	}
}

// Intent begins a write; fixed: size and digest are promised beforehand.
func (w *World) Intent(key, body string, fixed bool) lethe.ID {
	w.Helper()
	in := ledger.Intent{ID: w.ID(), Backend: "main", Size: int64(len(body))}
	if fixed {
		in.Promotion = &ledger.Promotion{Commit: w.Commit(key, body, in.ID)}
	}
	_, err := w.Ledger.Begin(w.Ctx, in)
	w.Must(err)
	return in.ID
}

// Upload sends bytes under a blob's name.
func (w *World) Upload(b lethe.ID, body string) {
	w.Helper()
	w.Must(w.Bytes.Put(w.Ctx, w.BlobName(b), strings.NewReader(body), int64(len(body))))
}

// BlobName returns the name of a blob on its backend.
func (w *World) BlobName(b lethe.ID) string { return lethe.BlobKey(w.Store, b) }

// Put stores an object as a writer does.
func (w *World) Put(key, body string) lethe.ID {
	w.Helper()
	b := w.Intent(key, body, false)
	w.Upload(b, body)
	_, err := w.Ledger.Commit(w.Ctx, w.Commit(key, body, b))
	w.Must(err)
	return b
}

// Remove deletes an object, and waits until its bytes may go.
func (w *World) Remove(keys ...string) {
	w.Helper()
	d := ledger.Deletion{Op: w.ID(), Bucket: "b"}
	for _, k := range keys {
		d.Items = append(d.Items, ledger.DeleteItem{Key: k})
	}
	_, err := w.Ledger.Delete(w.Ctx, d)
	w.Must(err)
	w.Clock.Advance(time.Minute)
}

// Pass runs a routine until nothing is due, and returns its counts.
func (w *World) Pass(r reclaim.Routine) map[string]int64 {
	w.Helper()
	counts := &reclaim.Counts{}
	step := r.Pass("worker")
	for more := true; more; {
		var err error
		more, err = step(w.Ctx, counts.Add)
		w.Must(err)
	}
	return counts.Map()
}

// State is a blob's, 0 if its row is gone.
func (w *World) State(b lethe.ID) lethe.State {
	row, _ := w.Ledger.Blob(b)
	return row.State
}

// Want fails unless what was got is n.
func Want[T comparable](t testing.TB, what string, got, n T) {
	t.Helper()
	if got != n {
		t.Errorf("%s is %v, want %v", what, got, n)
	}
}

// Sound fails unless the ledger's counts are right.
func (w *World) Sound() {
	w.Helper()
	found, err := w.Ledger.Recount(w.Ctx)
	w.Must(err)
	for _, d := range found {
		w.Errorf("the books are wrong: %+v", d)
	}
}

// Pairing returns the pairing of the ledger and its backends, as a new process has it.
func (w *World) Pairing() *pairing.Pairing {
	return &pairing.Pairing{Ledger: w.Ledger, Stores: w.Stores, Clock: w.Clock}
}

// Usurp has another ledger advance the epoch of the backend by so much, and returns
// the number.
func (w *World) Usurp(by int64) int64 {
	w.Helper()
	list, err := w.Ledger.Backends(w.Ctx)
	w.Must(err)
	n := list[0].Intended + by
	w.Bytes.Set(fmt.Sprintf("%s/epoch/%019d", w.Store, n), []byte(`{"db":"another"}`))
	return n
}

// Hold holds a backend as it is.
func (w *World) Hold(id string, h ledger.BackendHold) {
	all, err := w.Ledger.Backends(w.Ctx)
	w.Must(err)
	for _, b := range all {
		if b.ID == id {
			w.Must(w.Ledger.ChangeHold(w.Ctx, b, h))
		}
	}
}

// Loop returns a loop over the ledger.
func (w *World) Loop(list ...reclaim.Scheduled) *reclaim.Loop {
	return &reclaim.Loop{Routines: list, Ledger: w.Ledger, Clock: w.Clock, Worker: "me", NewID: w.ID}
}
