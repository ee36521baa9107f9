package object_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"pgregory.net/rapid"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/ledger/memledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// testLedger is a ledger with what the tests' own cleaner and checker need of it.
type testLedger interface {
	ledgertest.ObjectLedger
	cleaning
	reaping
	checking
	doubting
}

type doubting interface {
	Backends(context.Context) ([]ledger.Backend, error)
	ChangeHold(context.Context, ledger.Backend, ledger.BackendHold) error
}

type cleaning interface {
	Expire(context.Context, ledger.Batch) (ledger.Reclaimed, error)
	Purge(context.Context, ledger.Batch) (ledger.Reclaimed, error)
	ClaimCondemned(context.Context, ledger.ClaimRequest) (ledger.Claimed, error)
	Settle(context.Context, ledger.Settlement) (ledger.Settled, error)
}

type reaping interface {
	ClaimIntents(context.Context, ledger.ClaimRequest) (ledger.ClaimedIntents, error)
	Promote(context.Context, int64, lethe.ID, lethe.BlockSums) (ledger.Committed, error)
	CondemnIntent(context.Context, int64, lethe.ID) error
}

type marking interface {
	MarkSuspect(context.Context, []lethe.ID, string) (int, error)
	MarkSound(context.Context, []lethe.ID, time.Duration) (int, error)
}

type checking interface {
	AddBackend(context.Context, ledger.Backend) (ledger.Backend, error)
	Recount(context.Context) ([]ledger.Discrepancy, error)
	Blobs(context.Context, ledger.BlobQuery) ([]ledger.Blob, error)
	marking
	Identity(context.Context) (ledger.Store, error)
}

// grace and minAge are what the tests' ledger and store go by.
const (
	grace  = time.Minute
	late   = time.Hour
	minAge = 5 * time.Minute
	small  = 1 << 10
	bucket = "b"
)

// world is a store on a ledger and two backends whose faults a test decides.
type world struct {
	t        rapid.TB
	ctx      context.Context
	clock    *clocktest.Clock
	db       testLedger
	ledger   *faultyLedger
	backends map[string]*memblob.Store
	second   blob.Store // disk2, without faults
	*object.Store

	mu     sync.Mutex
	faults map[string]func(blobtest.Call) blobtest.Fault
	events []string
}

// newWorld makes a store with the bucket "b" of owner "alice"; change, if not
// nil, amends its options.
func newWorld(t rapid.TB, change func(*object.Options)) *world {
	c := clocktest.New()
	return worldOn(t, openLedger(t, ledger.Options{Clock: c, ReadGrace: grace, LateWindow: late, MaxRefs: 50}), c, change)
}

// openLedger makes the ledger of a new world: the one in memory, but see
// TestOnTheDatabase.
var openLedger = func(_ rapid.TB, o ledger.Options) testLedger { return memledger.New(o) }

func worldOn(t rapid.TB, db testLedger, c *clocktest.Clock, change func(*object.Options)) *world {
	w := &world{
		t: t, ctx: context.Background(), clock: c, db: db, ledger: &faultyLedger{ObjectLedger: db},
		backends: map[string]*memblob.Store{}, faults: map[string]func(blobtest.Call) blobtest.Fault{},
	}
	stores := map[string]blob.Store{}
	for _, id := range []string{"disk1", "disk2"} {
		_, err := db.AddBackend(w.ctx, ledger.Backend{ID: id})
		w.must(err)
		w.backends[id] = memblob.New(memblob.Options{})
		stores[id] = blobtest.NewFaulty(w.backends[id], func(call blobtest.Call) blobtest.Fault { return w.fault(id, call) })
	}
	w.second = w.backends["disk2"]
	who, err := db.Identity(w.ctx)
	w.must(err)
	o := object.Options{
		Ledger: ledgertest.ForObjects(w.ledger), Backends: stores, StoreID: who.ID, Clock: c, Monotonic: c,
		Small: small, MinPart: 5, Beat: 30 * time.Second, MinAge: minAge, ReadGrace: grace,
		Patience: 5 * time.Second,
		Sleep:    func(ctx context.Context, d time.Duration) error { c.Advance(d); return ctx.Err() },
		Events:   w.record(),
	}
	if change != nil {
		change(&o)
	}
	w.Store, err = object.New(o)
	w.must(err)
	_, err = w.CreateBucket(w.ctx, ledger.Bucket{Name: bucket, Owner: "alice"})
	w.must(err)
	return w
}

func (w *world) record() object.Events {
	return object.Events{
		Begun:     func(ledger.Blob, int64) { w.event("begun") },
		Committed: func(_ ledger.Object, dup bool) { w.event("committed") },
		Abandoned: func(_ lethe.ID, late, sure bool, _ error) {
			w.event(map[bool]string{true: "abandoned late", false: "abandoned"}[late])
		},
		Deduped:  func(ledger.Object, int64, bool) { w.event("deduped") },
		Unknown:  func(lethe.ID, string) { w.event("unknown") },
		Failover: func(ledger.Blob, error) { w.event("failover") },
		Corrupt:  func(ledger.Blob, error) { w.event("corrupt") },
		Extended: func(lethe.ID, error) { w.event("extended") },
	}
}

func (w *world) event(e string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

// seen counts an event.
func (w *world) seen(e string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, have := range w.events {
		if have == e {
			n++
		}
	}
	return n
}

func (w *world) fault(disk string, call blobtest.Call) blobtest.Fault {
	w.mu.Lock()
	decide := w.faults[disk]
	w.mu.Unlock()
	if decide == nil {
		return blobtest.Fault{}
	}
	return decide(call)
}

// breaks makes the operations of a disk suffer a fault, all of them if op is
// empty, until it is called again.
func (w *world) breaks(disk string, op blobtest.Op, f blobtest.Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults[disk] = func(call blobtest.Call) blobtest.Fault {
		if op == "" || call.Op == op {
			return f
		}
		return blobtest.Fault{}
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) wants(err, want error) {
	w.t.Helper()
	if !errors.Is(err, want) {
		w.t.Fatalf("error is %v, want %v", err, want)
	}
}

func (w *world) put(key, body string) ledger.Object {
	w.t.Helper()
	res, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: key, Body: strings.NewReader(body), Size: int64(len(body))})
	w.must(err)
	return res.Object
}

func (w *world) get(key string) (string, error) {
	return w.read(object.GetRequest{Bucket: bucket, Key: key})
}

func (w *world) read(r object.GetRequest) (string, error) {
	rd, err := w.Get(w.ctx, r)
	if err != nil {
		return "", err
	}
	defer rd.Body.Close()
	data, err := io.ReadAll(rd.Body)
	if err == nil && int64(len(data)) != rd.Length {
		w.t.Errorf("read %d bytes, Length says %d", len(data), rd.Length)
	}
	return string(data), err
}

// has fails unless the object has the body.
func (w *world) has(key, body string) {
	w.t.Helper()
	got, err := w.get(key)
	w.must(err)
	if got != body {
		w.t.Fatalf("%s has %d bytes (%.20q), want %d (%.20q)", key, len(got), got, len(body), body)
	}
}

func (w *world) hasNot(key string) {
	w.t.Helper()
	_, err := w.Head(w.ctx, object.GetRequest{Bucket: bucket, Key: key})
	w.wants(err, lethe.ErrNoSuchKey)
}

// blobs lists the ledger's rows in the states.
func (w *world) blobs(states ...lethe.State) []ledger.Blob {
	w.t.Helper()
	rows, err := w.db.Blobs(w.ctx, ledger.BlobQuery{States: states, Limit: 100_000})
	w.must(err)
	return rows
}

// reclaim lets days pass and does what the engine would: nothing due remains.
func (w *world) reclaim() {
	w.t.Helper()
	w.ledger.heal()
	for range 4 {
		w.clock.Advance(8 * late) // a day's undo window ends before the last round
		for _, step := range []func(context.Context, ledger.Batch) (ledger.Reclaimed, error){w.db.Expire, w.db.Purge} {
			for more := true; more; {
				r, err := step(w.ctx, ledger.Batch{Limit: 100, MaxBlobs: 1000})
				w.must(err)
				more = r.More
			}
		}
		for disk := range w.backends {
			w.reap(disk)
			w.clean(disk)
		}
	}
}

func (w *world) reap(disk string) {
	w.t.Helper()
	in, err := w.db.ClaimIntents(w.ctx, ledger.ClaimRequest{Worker: "w", Backend: disk, Limit: 1000, MinAge: minAge})
	w.must(err)
	for _, i := range in.Intents {
		w.must(w.db.CondemnIntent(w.ctx, in.Fence, i.Blob.ID))
	}
}

func (w *world) clean(disk string) {
	w.t.Helper()
	c, err := w.db.ClaimCondemned(w.ctx, ledger.ClaimRequest{Worker: "w", Backend: disk, Limit: 1000})
	w.must(err)
	if len(c.Blobs) == 0 {
		return
	}
	set := ledger.Settlement{Fence: c.Fence}
	for _, b := range c.Blobs {
		result := ledger.Gone
		res, err := w.backends[disk].Delete(w.ctx, []string{w.key(b.ID)})
		w.must(err)
		if errors.Is(res[0].Err, blob.ErrNotExist) {
			result = ledger.Absent
		}
		set.Items = append(set.Items, ledger.SettleItem{ID: b.ID, Result: result})
	}
	_, err = w.db.Settle(w.ctx, set)
	w.must(err)
}

func (w *world) key(id lethe.ID) string {
	who, err := w.db.Identity(w.ctx)
	w.must(err)
	return lethe.BlobKey(who.ID, id)
}

// sound fails unless the counters are exact and, after all is reclaimed, the backends
// hold the live blobs and nothing else, with the right bytes.
func (w *world) sound() {
	w.t.Helper()
	w.reclaim()
	wrong, err := w.db.Recount(w.ctx)
	w.must(err)
	for _, d := range wrong {
		w.t.Errorf("recount: %+v", d)
	}
	stored := 0
	for _, disk := range w.backends {
		stored += disk.Len()
	}
	rows := w.blobs()
	if len(rows) != stored {
		w.t.Errorf("%d blobs in the ledger, %d on the backends", len(rows), stored)
	}
	for _, b := range rows {
		data, ok := w.backends[b.Backend].Bytes(w.key(b.ID))
		if b.State != lethe.Live || !ok || int64(len(data)) != b.Size || sha(data) != b.Digest {
			w.t.Errorf("blob %+v: on its disk: %v, %d bytes", b, ok, len(data))
		}
	}
}

// empty fails unless nothing is left at all.
func (w *world) empty() {
	w.t.Helper()
	w.sound()
	if n := len(w.blobs()); n != 0 {
		w.t.Errorf("%d blobs are left", n)
	}
}

func sha(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func etag(body string) string {
	sum := md5.Sum([]byte(body))
	return hex.EncodeToString(sum[:])
}

// noise returns n bytes that derive from the seed.
func noise(n int, seed uint64) string {
	data := make([]byte, n)
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return string(data)
}

// slowBody calls before each of its reads of at most step bytes.
type slowBody struct {
	io.Reader
	step   int
	before func(n int) error
	n      int
}

func (b *slowBody) Read(p []byte) (int, error) {
	b.n++
	if err := b.before(b.n); err != nil {
		return 0, err
	}
	return b.Reader.Read(p[:min(len(p), b.step)])
}

func body(s string, step int, before func(n int) error) io.Reader {
	return &slowBody{Reader: bytes.NewReader([]byte(s)), step: step, before: before}
}

func keysOf(objects []ledger.Object) []string {
	var keys []string
	for _, o := range objects {
		keys = append(keys, o.Key)
	}
	slices.Sort(keys)
	return keys
}
