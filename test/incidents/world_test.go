package incidents_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/pairing"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// small is the size in bytes above which a body is streamed; backend is the first
// backend of a world, and in most the only one.
const (
	small   = 1 << 10
	backend = "main"
)

// world is a store with the engine's routines, and hooks at which things go wrong.
type world struct {
	*testing.T
	setting
	ctx     context.Context
	clock   *clocktest.Clock
	ledger  *hooked
	bytes   blob.Store // what really lies on the first backend
	disk    *blobtest.Faulty
	fault   func(blobtest.Call) blobtest.Fault // of the first backend; nil: none
	objects *object.Store
	store   lethe.ID
	safety  reclaim.Safety

	order   []string              // all backends
	lies    map[string]blob.Store // what really lies on them
	disks   map[string]blob.Store // and as the code sees them
	faults  map[string]func(blobtest.Call) blobtest.Fault
	pairing *pairing.Pairing
	theirs  []string // keys on the first backend that are not ours
	down    string   // the backend that placement knows to be down
}

func newWorld(t *testing.T, s setting, c *clocktest.Clock, db wholeLedger, place func() blob.Store) *world {
	w := &world{
		T: t, setting: s, ctx: t.Context(), clock: c, ledger: &hooked{wholeLedger: db}, safety: reclaim.Safety{Attempts: 3}.WithDefaults(),
		order: []string{backend, "second", "third"}[:max(s.backends, 1)],
		lies:  map[string]blob.Store{}, disks: map[string]blob.Store{}, faults: map[string]func(blobtest.Call) blobtest.Fault{},
	}
	who, err := db.Identity(w.ctx)
	w.must(err)
	w.store = who.ID
	w.pairing = &pairing.Pairing{Ledger: db, Stores: w.lies, Clock: c}
	for _, id := range w.order {
		w.addBackend(id, place())
	}
	w.objects = w.instance(w.ledger)
	for _, name := range []string{"b", "b2"} {
		_, err = w.objects.CreateBucket(w.ctx, ledger.Bucket{Name: name, Owner: "alice"})
		w.must(err)
	}
	return w
}

func (w *world) addBackend(id string, bytes blob.Store) {
	w.Helper()
	disk := blobtest.NewFaulty(bytes, func(call blobtest.Call) blobtest.Fault {
		fault := w.faults[id]
		if id == backend {
			fault = w.fault
		}
		if fault == nil {
			return blobtest.Fault{}
		}
		return fault(call)
	})
	if id == backend {
		w.bytes, w.disk = bytes, disk
	}
	w.lies[id], w.disks[id] = bytes, disk
	_, err := w.ledger.AddBackend(w.ctx, ledger.Backend{ID: id})
	w.must(err)
	if w.paired {
		w.must(w.pairing.Advance(w.ctx, id))
	}
}

// instance is a front door of its own on the world's backends.
func (w *world) instance(l wholeLedger) *object.Store {
	w.Helper()
	o := object.Options{
		Ledger: ledgertest.ForObjects(l), Backends: w.disks, StoreID: w.store,
		Clock: w.clock, Monotonic: w.clock, Small: small, MinPart: 1, Patience: 5 * time.Second,
		Sleep: func(ctx context.Context, d time.Duration) error { w.clock.Advance(d); return ctx.Err() },
	}
	if w.cache != nil {
		o.Cache = w.cache(w.T)
	}
	s, err := object.New(o)
	w.must(err)
	return s
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// wants fails unless err is the kind.
func (w *world) wants(err, kind error) {
	w.Helper()
	if !errors.Is(err, kind) {
		w.Fatalf("error is %v, want %v", err, kind)
	}
}

// equal fails unless got is n.
func equal[T comparable](w *world, what string, got, n T) {
	w.Helper()
	if got != n {
		w.Errorf("%s is %v, want %v", what, got, n)
	}
}

// split cuts "bucket/key".
func split(at string) (bucket, key string) {
	bucket, key, _ = strings.Cut(at, "/")
	return bucket, key
}

func (w *world) request(at string, body io.Reader, size int) object.PutRequest {
	bucket, key := split(at)
	return object.PutRequest{Bucket: bucket, Key: key, Body: body, Size: int64(size)}
}

// tryPut stores a body under "bucket/key".
func (w *world) tryPut(at, body string) error {
	_, err := w.objects.Put(w.ctx, w.request(at, strings.NewReader(body), len(body)))
	return err
}

func (w *world) put(at, body string) {
	w.Helper()
	w.must(w.tryPut(at, body))
}

func (w *world) tryDelete(ats ...string) error {
	for _, at := range ats {
		bucket, key := split(at)
		if _, err := w.objects.Delete(w.ctx, object.DeleteRequest{Bucket: bucket, Items: []ledger.DeleteItem{{Key: key}}}); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) delete(ats ...string) {
	w.Helper()
	w.must(w.tryDelete(ats...))
}

func (w *world) get(at string) (string, error) {
	bucket, key := split(at)
	rd, err := w.objects.Get(w.ctx, object.GetRequest{Bucket: bucket, Key: key})
	if err != nil {
		return "", err
	}
	defer rd.Body.Close()
	data, err := io.ReadAll(rd.Body)
	return string(data), err
}

// has fails unless the object reads back as the body.
func (w *world) has(at, body string) {
	w.Helper()
	got, err := w.get(at)
	w.must(err)
	if got != body {
		w.Fatalf("%s has %d bytes (%.20q), want %d (%.20q)", at, len(got), got, len(body), body)
	}
}

func (w *world) hasNot(at string) {
	w.Helper()
	_, err := w.get(at)
	w.wants(err, lethe.ErrNoSuchKey)
}

// fill stores n objects with bodies of their own in a bucket.
func (w *world) fill(bucket string, n int) map[string]string {
	w.Helper()
	all := map[string]string{}
	for i := range n {
		at := fmt.Sprintf("%s/object %d", bucket, i)
		all[at] = fmt.Sprintf("the body of %s", at)
		w.put(at, all[at])
	}
	return all
}

// slowly is a body that calls before each of its reads of at most step bytes.
func slowly(body string, step int, before func(n int)) io.Reader {
	return &slowBody{Reader: strings.NewReader(body), step: step, before: before}
}

type slowBody struct {
	io.Reader
	step   int
	before func(n int)
	n      int
}

func (b *slowBody) Read(p []byte) (int, error) {
	b.n++
	b.before(b.n)
	return b.Reader.Read(p[:min(len(p), b.step)])
}

// deleteAll deletes keys in one request.
func (w *world) deleteAll(bucket string, items []ledger.DeleteItem) ([]ledger.Deleted, error) {
	return w.objects.Delete(w.ctx, object.DeleteRequest{Bucket: bucket, Items: items})
}
