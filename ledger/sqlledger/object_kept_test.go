package sqlledger

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/ledger"
)

// counted counts the transactions that look keys up.
func (l *fixture) counted() *atomic.Int64 {
	n := new(atomic.Int64)
	l.OnTransactions(func(ctx context.Context, name string) (context.Context, func(Transaction)) {
		if name == "Resolve" || name == "StatObject" {
			n.Add(1)
		}
		return ctx, func(Transaction) {}
	})
	return n
}

// resolved returns the object of a key, and how many transactions that took.
func (l *fixture) resolved(n *atomic.Int64, key string) (ledger.Resolved, int64) {
	l.t.Helper()
	before := n.Load()
	r, err := l.Resolve(l.ctx, "b", key)
	l.ok(err)
	return r, n.Load() - before
}

// What was resolved is resolved again without a transaction until the ledger changes, whatever
// changed, and never beyond its end.
func TestObjectsAreKeptUntilTheLedgerChanges(t *testing.T) {
	l := newLedger(t)
	n := l.counted()
	l.putTTL("k", "digest", time.Hour)
	first, looks := l.resolved(n, "k")
	if looks != 1 {
		t.Fatalf("%d transactions after a change", looks)
	}
	if _, looks := l.resolved(n, "k"); looks != 1 {
		t.Errorf("%d transactions for what was read once", looks)
	}
	l.clock.Advance(time.Minute)
	again, looks := l.resolved(n, "k")
	if looks != 0 || again.Object.ID != first.Object.ID || again.Now != l.now() || len(again.Segments) != 1 {
		t.Fatalf("%d transactions without a change: %+v", looks, again)
	}
	before := n.Load()
	if r, err := l.StatObject(l.ctx, "b", "k"); err != nil || r.Object.ID != first.Object.ID || r.Now != l.now() || r.Segments != nil || n.Load() != before {
		t.Errorf("%d transactions look it up: %+v, %v", n.Load()-before, r, err)
	}
	for what, change := range map[string]func(){
		"another key": func() { l.putTTL("other", "other", 0) },
		"its tags": func() {
			tags := map[string]string{"a": "b"}
			_, err := l.Update(l.ctx, ledger.Update{Bucket: "b", Key: "k", Tags: &tags})
			l.ok(err)
		},
		"its bytes": func() { l.putTTL("k", "others", time.Hour) },
		"the clock's mark alone": func() {
			l.clock.Advance(time.Minute)
			_, err := l.InterruptRuns(l.ctx, "nobody")
			l.ok(err)
		},
	} {
		l.resolved(n, "k")
		change()
		if _, looks := l.resolved(n, "k"); looks != 1 {
			t.Errorf("%d transactions after a change of %s", looks, what)
		}
	}
	l.resolved(n, "k")
	l.clock.Advance(time.Hour)
	if r, err := l.Resolve(l.ctx, "b", "k"); err == nil {
		t.Errorf("it is there after its end: %+v", r)
	}
	l.putTTL("k", "digest", 0)
	l.resolved(n, "k")
	l.remove("k")
	if r, err := l.Resolve(l.ctx, "b", "k"); err == nil {
		t.Errorf("it is there once it is deleted: %+v", r)
	}
}

// A snapshot sees what was there when it began, and no closed ledger answers.
func TestSnapshotsDoNotSeeKeptObjects(t *testing.T) {
	db := openTest(t, t.TempDir()+"/ledger.db", ledger.Options{})
	setUp(t, db)
	l := &fixture{DB: db, t: t, ctx: context.Background(), clock: newTestClock()}
	old := l.putTTL("k", "old", 0).Object.ID
	l.ok(db.OneSnapshot(l.ctx, func(ctx context.Context) error {
		if _, err := db.Resolve(ctx, "b", "k"); err != nil {
			return err
		}
		now := l.putTTL("k", "new", 0).Object.ID
		for range 2 {
			if r, err := db.Resolve(l.ctx, "b", "k"); err != nil || r.Object.ID != now {
				t.Errorf("beside the snapshot is %s, %v; want %s", r.Object.ID, err, now)
			}
		}
		r, err := db.Resolve(ctx, "b", "k")
		if r.Object.ID != old {
			t.Errorf("the snapshot has %s, want %s", r.Object.ID, old)
		}
		return err
	}))
	l.ok(db.Close())
	if r, err := db.Resolve(l.ctx, "b", "k"); err == nil {
		t.Errorf("a closed ledger answers %+v", r)
	}
}

// Readers beside a writer never see an earlier object than the last that was told, and each
// sees objects in their order.
func TestKeptObjectsAreTheLast(t *testing.T) {
	db := openTest(t, t.TempDir()+"/ledger.db", ledger.Options{}, NoSync())
	setUp(t, db)
	l := &fixture{DB: db, t: t, ctx: context.Background(), clock: newTestClock()}
	var told atomic.Int64
	var readers sync.WaitGroup
	done := make(chan struct{})
	put := func(i int) {
		c := commitOf(db, "k", ledger.Uploaded{Blob: l.begin(100), Size: 100, Digest: fmt.Sprint("digest ", i)})
		c.Object.ETag = fmt.Sprint(i)
		_, err := db.Commit(l.ctx, c)
		l.ok(err)
		told.Store(int64(i))
	}
	put(0)
	for range 4 {
		readers.Go(func() {
			seen := int64(0)
			for {
				select {
				case <-done:
					return
				default:
				}
				least := max(seen, told.Load())
				r, err := db.Resolve(l.ctx, "b", "k")
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := fmt.Sscan(r.Object.ETag, &seen); err != nil || seen < least {
					t.Errorf("object %d after %d, %v", seen, least, err)
					return
				}
			}
		})
	}
	for i := 1; i < 1500 && !t.Failed(); i++ {
		put(i)
	}
	close(done)
	readers.Wait()
}

// However much is read, what is kept takes about as much memory as it may, whatever it consists of.
func TestKeptObjectsTakeLittleRoom(t *testing.T) {
	for what, r := range map[string]ledger.Resolved{
		"bytes":      {Inline: ledger.Body{Bytes: []byte(strings.Repeat("x", 64<<10))}},
		"tags":       {Object: ledger.Object{Tags: map[string]string{"a": strings.Repeat("x", 30<<10), "b": strings.Repeat("x", 30<<10)}}},
		"attributes": {Object: ledger.Object{Attrs: ledger.Attrs{ContentDisposition: strings.Repeat("x", 30<<10), User: map[string]string{"a": strings.Repeat("x", 30<<10)}}}},
	} {
		db, most := &DB{}, 0
		for i := range 3000 {
			r.Object.Bucket, r.Object.Key = "b", fmt.Sprint(i)
			db.resolved.put(0, r)
			most = max(most, len(db.resolved.by))
		}
		if most < keptBytes>>17 || most > keptBytes>>16+keptBytes>>20 {
			t.Errorf("%d objects with %s are kept", most, what)
		}
	}
}

// Bytes that were read wrongly are not kept: the next reader may read them well.
func TestWrongBytesAreNotKept(t *testing.T) {
	l := newLedger(t)
	since, _ := l.engine.File.Changes()
	for _, wrong := range []bool{false, true} {
		r := ledger.Resolved{Object: ledger.Object{Bucket: "b", Key: fmt.Sprint(wrong), Size: 4}, Inline: ledger.NewBody("digest", []byte("body"))}
		if wrong {
			r.Inline.Bytes = []byte("bodx")
		}
		for range 2 {
			l.DB.keep(since, r)
		}
		if _, _, found := l.DB.kept(l.ctx, "b", r.Object.Key); found == wrong {
			t.Errorf("wrong %t: kept %t", wrong, found)
		}
	}
}
