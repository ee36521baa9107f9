package object_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// thing is an object as the model has it.
type thing struct {
	body  string
	ttlAt lethe.Time
}

// model is what a store must look like from outside: keys, bytes and instants.
type model struct {
	*world
	t       *rapid.T
	objects map[string]thing
	undo    time.Duration
	faulty  bool
	uploads []started
}

type started struct {
	up    ledger.Upload
	parts []string
	names []ledger.PartName
}

// TestStoreIsItsModel runs random operations on the store and on a map, with the
// engine's steps and lost answers between, and compares.
func TestStoreIsItsModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{world: newWorld(rt, variant(t, rapid.Bool().Draw(rt, "cache"), rapid.SampledFrom([]int64{0, 7, small}).Draw(rt, "inline"))), t: rt, objects: map[string]thing{}}
		rt.Repeat(map[string]func(*rapid.T){
			"put": m.put1, "delete": m.delete1, "copy": m.copy1, "ttl": m.ttl, "wait": m.wait, "undo": m.setUndo,
			"restore": m.restore, "upload": m.upload1, "part": m.part1, "finish": m.finish, "lose": m.loseAnswers,
			"reclaim": func(*rapid.T) { m.reclaimNow() },
			"":        func(*rapid.T) { m.compare() },
		})
		m.ledger.heal()
		m.sound()
		m.compare()
	})
}

func variant(t testing.TB, cached bool, inline int64) func(*object.Options) {
	return func(o *object.Options) {
		if o.Inline = inline; cached {
			o.Cache = memory(t)
		}
	}
}

func (m *model) key() string { return fmt.Sprint("k", rapid.IntRange(0, 5).Draw(m.t, "key")) }

// body is one of few, so that contents are shared, on both sides of Small.
func (m *model) body() string {
	n := rapid.SampledFrom([]int{0, 7, small, small + 1, 4 * small}).Draw(m.t, "size")
	return noise(n, rapid.Uint64Range(0, 2).Draw(m.t, "seed"))
}

func (m *model) life() time.Duration {
	return rapid.SampledFrom([]time.Duration{0, time.Minute, 3 * time.Hour}).Draw(m.t, "ttl")
}

func (m *model) at(ttl time.Duration) lethe.Time {
	if ttl == 0 {
		return 0
	}
	return m.clock.Now().Add(ttl)
}

// ok accepts no error, or, while there are faults, one that comes of them and
// after which nothing has changed. It says which.
func (m *model) ok(err error, key string) bool {
	if err == nil {
		return true
	}
	fault := blobtest.Injected(err) || errors.Is(err, lethe.ErrUnknownOutcome) || errors.Is(err, lethe.ErrUnavailable)
	if !m.faulty || !fault {
		m.t.Fatalf("%s: %v", key, err)
	}
	return false
}

func (m *model) put1(*rapid.T) {
	key, body, ttl := m.key(), m.body(), m.life()
	r := object.PutRequest{Bucket: bucket, Key: key, Body: strings.NewReader(body), Size: int64(len(body)), TTL: ttl}
	if rapid.Bool().Draw(m.t, "unknown size") {
		r.Size = -1
	}
	_, err := m.Put(m.ctx, r)
	if m.ok(err, key) {
		m.objects[key] = thing{body, m.at(ttl)}
	}
}

func (m *model) delete1(*rapid.T) {
	var items []ledger.DeleteItem
	for range rapid.IntRange(1, 3).Draw(m.t, "n") {
		items = append(items, ledger.DeleteItem{Key: m.key()})
	}
	_, err := m.Delete(m.ctx, object.DeleteRequest{Bucket: bucket, Items: items})
	if m.ok(err, "delete") {
		for _, item := range items {
			delete(m.objects, item.Key)
		}
	}
}

func (m *model) copy1(*rapid.T) {
	from, to := m.key(), m.key()
	keep := rapid.Bool().Draw(m.t, "keep")
	_, err := m.Copy(m.ctx, object.CopyRequest{SourceBucket: bucket, SourceKey: from, Bucket: bucket, Key: to, KeepTTL: keep})
	src, there := m.visible(from)
	switch {
	case !there:
		m.wants(err, lethe.ErrNoSuchKey)
	case m.ok(err, to) && keep:
		m.objects[to] = src
	case err == nil:
		m.objects[to] = thing{body: src.body}
	}
}

func (m *model) ttl(*rapid.T) {
	key, ttl := m.key(), m.life()
	_, err := m.Update(m.ctx, ledger.Update{Bucket: bucket, Key: key, TTL: &ledger.TTLChange{TTL: ttl}})
	o, there := m.visible(key)
	if !there {
		m.wants(err, lethe.ErrNoSuchKey)
	} else if m.ok(err, key) {
		m.objects[key] = thing{o.body, m.at(ttl)}
	}
}

func (m *model) wait(*rapid.T) {
	m.clock.Advance(time.Duration(rapid.IntRange(1, 120).Draw(m.t, "minutes")) * time.Minute)
}

func (m *model) setUndo(*rapid.T) {
	m.undo = rapid.SampledFrom([]time.Duration{0, 24 * time.Hour}).Draw(m.t, "undo")
	_, err := m.ConfigureBucket(m.ctx, bucket, ledger.BucketSettings{Undo: m.undo}, nil)
	m.must(err)
}

func (m *model) restore(*rapid.T) {
	trash, err := m.Trash(m.ctx, ledger.TrashQuery{Bucket: bucket, Limit: 100})
	m.must(err)
	if len(trash) == 0 {
		return
	}
	e := trash[rapid.IntRange(0, len(trash)-1).Draw(m.t, "entry")]
	_, taken := m.visible(e.Object.Key)
	_, err = m.Restore(m.ctx, e.ID, false)
	if e.Object.TTLPassed(m.clock.Now()) {
		m.wants(err, lethe.ErrTrashNotFound)
		return
	}
	if taken {
		m.wants(err, lethe.ErrPreconditionFailed)
		return
	}
	if !m.ok(err, e.Object.Key) {
		return
	}
	// The trash holds no bodies to compare with, but digests.
	got, err := m.get(e.Object.Key)
	m.must(err)
	if len(e.Object.Attrs.Parts) == 0 && etag(got) != e.Object.ETag {
		m.t.Fatalf("%s was restored with other bytes", e.Object.Key)
	}
	o, err := m.Head(m.ctx, object.GetRequest{Bucket: bucket, Key: e.Object.Key})
	m.must(err)
	m.objects[e.Object.Key] = thing{got, o.TTLAt}
}

func (m *model) upload1(*rapid.T) {
	up, err := m.CreateUpload(m.ctx, object.UploadRequest{Bucket: bucket, Key: m.key()})
	m.must(err)
	m.uploads = append(m.uploads, started{up: up})
}

func (m *model) part1(*rapid.T) {
	if len(m.uploads) == 0 {
		return
	}
	u := &m.uploads[rapid.IntRange(0, len(m.uploads)-1).Draw(m.t, "upload")]
	body := m.body()
	if len(body) < 5 {
		body = "12345"
	}
	p, err := m.PutPart(m.ctx, object.PartRequest{
		Bucket: bucket, Key: u.up.Key, Upload: u.up.ID, Number: len(u.parts) + 1, Body: strings.NewReader(body), Size: -1,
	})
	if m.ok(err, "part") {
		u.parts = append(u.parts, body)
		u.names = append(u.names, ledger.PartName{Number: p.Number, ETag: p.ETag})
	}
}

func (m *model) finish(*rapid.T) {
	if len(m.uploads) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.uploads)-1).Draw(m.t, "upload")
	u := m.uploads[i]
	m.uploads = slices.Delete(m.uploads, i, i+1)
	if len(u.parts) == 0 || rapid.Bool().Draw(m.t, "abort") {
		m.ok(m.Abort(m.ctx, bucket, u.up.Key, u.up.ID), "abort")
		return
	}
	_, err := m.Complete(m.ctx, object.CompleteRequest{Bucket: bucket, Key: u.up.Key, Upload: u.up.ID, Parts: u.names})
	if m.ok(err, u.up.Key) {
		m.objects[u.up.Key] = thing{body: strings.Join(u.parts, "")}
	}
}

// loseAnswers lets every third write lose its answer, done or not, and every
// fifth upload fail, until it is called again.
func (m *model) loseAnswers(*rapid.T) {
	m.ledger.heal()
	m.breaks("disk1", "", blobtest.Fault{})
	if m.faulty = !m.faulty; !m.faulty {
		return
	}
	n := 0
	m.ledger.mu.Lock()
	m.ledger.decide = func(method string) mode {
		if method == "Outcome" || method == "Resolve" || method == "StatObject" {
			return pass
		}
		n++
		return []mode{pass, pass, lostDone, pass, lostUndone}[n%5]
	}
	m.ledger.mu.Unlock()
	m.mu.Lock()
	m.faults["disk1"] = func(call blobtest.Call) blobtest.Fault {
		kinds := []blobtest.Kind{blobtest.None, blobtest.None, blobtest.Down, blobtest.None, blobtest.DoneError}
		if call.Op != blobtest.OpPut {
			return blobtest.Fault{}
		}
		return blobtest.Fault{Kind: kinds[call.N%5]}
	}
	m.mu.Unlock()
}

// reclaimNow does one step of the engine, and checks the counters.
func (m *model) reclaimNow() {
	for _, step := range []func() error{
		func() error { _, err := m.db.Expire(m.ctx, ledger.Batch{Limit: 3, MaxBlobs: 10}); return err },
		func() error { _, err := m.db.Purge(m.ctx, ledger.Batch{Limit: 3, MaxBlobs: 10}); return err },
	} {
		m.must(step())
	}
	for disk := range m.backends {
		m.reap(disk)
		m.clean(disk)
	}
	wrong, err := m.db.Recount(m.ctx)
	m.must(err)
	if len(wrong) > 0 {
		m.t.Fatalf("recount: %+v", wrong)
	}
}

func (m *model) visible(key string) (thing, bool) {
	o, ok := m.objects[key]
	return o, ok && (o.ttlAt == 0 || o.ttlAt > m.clock.Now())
}

// compare fails unless the store shows exactly what the model has.
func (m *model) compare() {
	page, err := m.List(m.ctx, ledger.ListQuery{Bucket: bucket, Limit: 100})
	m.must(err)
	var want []string
	for i := range 6 {
		key := fmt.Sprint("k", i)
		o, ok := m.visible(key)
		if !ok {
			continue
		}
		want = append(want, key)
		got, err := m.get(key)
		if err != nil || got != o.body {
			m.t.Fatalf("%s has %d bytes (%v), want %d", key, len(got), err, len(o.body))
		}
	}
	if have := keysOf(page.Objects); !slices.Equal(have, want) {
		m.t.Fatalf("listed %v, want %v", have, want)
	}
}
