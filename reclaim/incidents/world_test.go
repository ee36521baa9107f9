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
	"github.com/lethe-storage/lethe/blob/fsblob"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/internal/clocktest"
	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/meta/memmeta"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/reclaim"
)

// small is the size in bytes above which a body is streamed; backend is the one
// backend of a world.
const (
	small   = 1 << 10
	backend = "main"
)

// world is a store on one backend, with the engine's routines, and hooks at
// which things go wrong.
type world struct {
	*testing.T
	ctx     context.Context
	clock   *clocktest.Clock
	ledger  *hooked
	bytes   blob.Store // what really lies on the backend
	disk    *blobtest.Faulty
	fault   func(blobtest.Call) blobtest.Fault // nil: none
	objects *object.Store
	store   lethe.ID
	safety  reclaim.Safety
}

// each runs the incident in memory, and on SQLite with files.
func each(t *testing.T, incident func(*world)) {
	t.Run("in memory", func(t *testing.T) {
		c := clocktest.New()
		incident(newWorld(t, c, memmeta.New(options(c)), memblob.New(memblob.Options{Clock: c})))
	})
	t.Run("SQLite and files", func(t *testing.T) {
		c := clocktest.New()
		db, err := meta.Open(t.Context(), meta.Memory, options(c))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		files, err := fsblob.Open(fsblob.Options{Root: t.TempDir(), NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		incident(newWorld(t, c, db, files))
	})
}

func options(c *clocktest.Clock) meta.Options {
	s := reclaim.Safety{}.WithDefaults()
	return meta.Options{Clock: c, ReadGrace: s.ReadGrace, LateWindow: s.LateWindow}
}

func newWorld(t *testing.T, c *clocktest.Clock, db ledger, bytes blob.Store) *world {
	w := &world{
		T: t, ctx: t.Context(), clock: c, ledger: &hooked{ledger: db}, bytes: bytes,
		safety: reclaim.Safety{Attempts: 3}.WithDefaults(),
	}
	w.disk = blobtest.NewFaulty(bytes, func(call blobtest.Call) blobtest.Fault {
		if w.fault == nil {
			return blobtest.Fault{}
		}
		return w.fault(call)
	})
	who, err := db.Identity(w.ctx)
	w.must(err)
	w.store = who.ID
	_, err = db.AddBackend(w.ctx, meta.Backend{ID: backend})
	w.must(err)
	w.objects, err = object.New(object.Options{
		Ledger: w.ledger, Backends: map[string]blob.Store{backend: w.disk}, StoreID: w.store,
		Clock: c, Monotonic: c, Small: small, MinPart: 1, Patience: 5 * time.Second,
		Sleep: func(ctx context.Context, d time.Duration) error { c.Advance(d); return ctx.Err() },
	})
	w.must(err)
	for _, name := range []string{"b", "b2"} {
		_, err = w.objects.CreateBucket(w.ctx, meta.Bucket{Name: name, Owner: "alice"})
		w.must(err)
	}
	return w
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
		if _, err := w.objects.Delete(w.ctx, object.DeleteRequest{Bucket: bucket, Items: []meta.DeleteItem{{Key: key}}}); err != nil {
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
