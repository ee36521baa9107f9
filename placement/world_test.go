package placement_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/ledger/memledger"
	"github.com/lethe-storage/lethe/placement"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// world is a ledger and some backends whose faults the test decides.
type world struct {
	*testing.T
	ctx      context.Context
	clock    *clocktest.Clock
	ids      *rand.ChaCha8
	db       *memledger.DB
	backends map[string]*memblob.Store
	faults   map[string]blobtest.Fault
	opt      placement.Options
	told     []string
}

const kb = 1 << 10

func newWorld(t *testing.T, replicas int, quotas map[string]int64) *world {
	w := &world{
		T: t, ctx: t.Context(), clock: clocktest.At(lethe.FromTime(time.Date(2031, 1, 2, 3, 4, 5, 0, time.UTC))),
		ids: rand.NewChaCha8([32]byte{1}), backends: map[string]*memblob.Store{}, faults: map[string]blobtest.Fault{},
	}
	w.db = memledger.New(ledger.Options{Clock: w.clock, Random: w.ids, ReadGrace: time.Minute, MovedGrace: time.Minute, LateWindow: time.Hour, Replicas: replicas})
	who, err := w.db.Identity(w.ctx)
	w.must(err)
	w.opt = placement.Options{
		Ledger: ledgertest.ForPlacement(w.db), Stores: map[string]blob.Store{}, Store: who.ID, Replicas: replicas, Clock: w.clock,
		NewID: w.id, Events: &placement.Events{
			Planned: func(s ledger.Subject, plan string) { w.told = append(w.told, plan) },
		},
	}
	for _, id := range slices.Sorted(keys(quotas)) {
		disk := memblob.New(memblob.Options{Clock: w.clock})
		w.backends[id] = disk
		w.opt.Stores[id] = blobtest.NewFaulty(disk, func(blobtest.Call) blobtest.Fault { return w.faults[id] })
		w.opt.Order = append(w.opt.Order, id)
		_, err := w.db.AddBackend(w.ctx, ledger.Backend{ID: id, Quota: quotas[id]})
		w.must(err)
	}
	_, err = w.db.CreateBucket(w.ctx, ledger.Bucket{Name: "b", Owner: "o", Domain: "o"})
	w.must(err)
	return w
}

func keys(m map[string]int64) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (w *world) id() lethe.ID { return lethe.NewID(w.clock.Now(), w.ids) }

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func body(key string, size int) string { return strings.Repeat(key+"|", size/(len(key)+1)+1)[:size] }

// upload stores bytes on a backend under an intent.
func (w *world) upload(in ledger.Intent, data string) ledger.Uploaded {
	w.Helper()
	in.ID, in.Size = w.id(), int64(len(data))
	_, err := w.db.Begin(w.ctx, in)
	w.must(err)
	w.must(w.backends[in.Backend].Put(w.ctx, lethe.BlobKey(w.opt.Store, in.ID), strings.NewReader(data), in.Size))
	sum := sha256.Sum256([]byte(data))
	return ledger.Uploaded{Blob: in.ID, Size: in.Size, Digest: hex.EncodeToString(sum[:])}
}

// put stores an object of size bytes on a backend.
func (w *world) put(backend, key string, size int) {
	w.Helper()
	up := w.upload(ledger.Intent{Backend: backend}, body(key, size))
	_, err := w.db.Commit(w.ctx, ledger.Commit{
		Op: w.id(), What: "put", Object: ledger.Object{Bucket: "b", Key: key, Size: up.Size, ETag: "e"},
		Content: ledger.ContentKey{Kind: lethe.Whole, Digest: up.Digest, Size: up.Size}, Blobs: []ledger.Uploaded{up},
	})
	w.must(err)
}

// part stores the part of a new upload on a backend.
func (w *world) part(backend, key string, size int) ledger.Upload {
	w.Helper()
	u, err := w.db.CreateUpload(w.ctx, ledger.Upload{Bucket: "b", Key: key, Owner: "o"})
	w.must(err)
	up := w.upload(ledger.Intent{Backend: backend, UploadID: u.ID, Part: 1}, body(key, size))
	_, err = w.db.CommitPart(w.ctx, ledger.PartCommit{Op: w.id(), Part: ledger.Part{
		UploadID: u.ID, Number: 1, BlobID: up.Blob, Size: up.Size, ETag: "e", Digest: up.Digest,
	}})
	w.must(err)
	return u
}

// copies lists the backends of an object's copies, "?" behind suspect ones.
func (w *world) copies(key string) string {
	w.Helper()
	res, err := w.db.Resolve(w.ctx, "b", key)
	w.must(err)
	var out []string
	for _, b := range res.Segments[0].Blobs {
		name := b.Backend
		if b.Suspect {
			name += "?"
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// blob finds the copy of an object on a backend.
func (w *world) blob(key, backend string) ledger.Blob {
	w.Helper()
	res, err := w.db.Resolve(w.ctx, "b", key)
	w.must(err)
	for _, b := range res.Segments[0].Blobs {
		if b.Backend == backend {
			rows, err := w.db.BlobsByID(w.ctx, []lethe.ID{b.ID})
			w.must(err)
			return rows[0]
		}
	}
	w.Fatalf("%s has no copy on %s", key, backend)
	return ledger.Blob{}
}

// whole checks that every copy of an object can be read and is what was put.
func (w *world) whole(key string, size int) {
	w.Helper()
	res, err := w.db.Resolve(w.ctx, "b", key)
	w.must(err)
	for _, b := range res.Segments[0].Blobs {
		data, _ := w.backends[b.Backend].Bytes(lethe.BlobKey(w.opt.Store, b.ID))
		if string(data) != body(key, size) {
			w.Errorf("the copy of %s on %s has %d other bytes", key, b.Backend, len(data))
		}
	}
}

// pass runs a routine to its end and returns its counts.
func (w *world) pass(r interface {
	Pass(string) placement.Step
}) map[string]int64 {
	w.Helper()
	counts := map[string]int64{}
	step := r.Pass("w")
	for i, more := 0, true; more; i++ {
		var err error
		more, err = step(w.ctx, func(name string, n int64) { counts[name] += n })
		w.must(err)
		if i > 1000 {
			w.Fatalf("no end: %v", counts)
		}
	}
	w.sound()
	return counts
}

// replicate works off the queue.
func (w *world) replicate() map[string]int64 {
	w.Helper()
	return w.pass(placement.NewReplicate(w.opt))
}

func (w *world) sound() {
	w.Helper()
	found, err := w.db.Recount(w.ctx)
	w.must(err)
	for _, d := range found {
		w.Errorf("recount: %+v", d)
	}
}

// clean deletes what is condemned and due, after the graces.
func (w *world) clean() {
	w.Helper()
	w.clock.Advance(2 * time.Hour)
	for id, disk := range w.backends {
		claimed, err := w.db.ClaimCondemned(w.ctx, ledger.ClaimRequest{Worker: "c", Backend: id})
		if errors.Is(err, lethe.ErrBackendMismatch) {
			continue
		}
		w.must(err)
		var items []ledger.SettleItem
		for _, b := range claimed.Blobs {
			_, err := disk.Delete(w.ctx, []string{lethe.BlobKey(w.opt.Store, b.ID)})
			w.must(err)
			items = append(items, ledger.SettleItem{ID: b.ID, Result: ledger.Gone})
		}
		_, err = w.db.Settle(w.ctx, ledger.Settlement{Fence: claimed.Fence, Items: items})
		w.must(err)
	}
	w.sound()
}

func (w *world) want(what string, have, want any) {
	w.Helper()
	if fmt.Sprint(have) != fmt.Sprint(want) {
		w.Errorf("%s: %v, want %v", what, have, want)
	}
}

func bodyOf(key string, size int) *strings.Reader { return strings.NewReader(body(key, size)) }
