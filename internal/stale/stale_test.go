package stale

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/clocktest"
	"github.com/lethe-storage/lethe/internal/failpoint"
	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/meta/memmeta"
)

const window = 30 * time.Second

// flaky is a ledger that can be away.
type flaky struct {
	failpoint.Ledger
	away  bool
	asked int
	// meanwhile happens between a read and its answer.
	meanwhile func()
}

func (f *flaky) Resolve(ctx context.Context, bucket, key string) (meta.Resolved, error) {
	f.asked++
	if f.away {
		return meta.Resolved{}, fmt.Errorf("ledger: %w", lethe.ErrUnavailable)
	}
	got, err := f.Ledger.Resolve(ctx, bucket, key)
	if f.meanwhile != nil {
		f.meanwhile()
	}
	return got, err
}

func (f *flaky) Bucket(ctx context.Context, name string) (meta.Bucket, error) {
	if f.away {
		return meta.Bucket{}, lethe.ErrUnavailable
	}
	return f.Ledger.Bucket(ctx, name)
}

func (f *flaky) AccessKey(context.Context, string) (meta.AccessKey, error) {
	if f.away {
		return meta.AccessKey{}, lethe.ErrUnavailable
	}
	return meta.AccessKey{ID: "k"}, nil
}

type world struct {
	*testing.T
	ctx      context.Context
	clock    *clocktest.Clock
	raw      *flaky
	reads    *Reads
	ledger   *Ledger
	down     bool
	answered int
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, ctx: t.Context(), clock: clocktest.At(1_000_000_000_000)}
	w.raw = &flaky{Ledger: memmeta.New(meta.Options{Clock: w.clock})}
	var err error
	w.reads, err = New(Options{Window: window, Monotonic: w.clock, Down: func() bool { return w.down }, Answered: func() { w.answered++ }})
	w.must(err)
	w.ledger = w.reads.Ledger(w.raw)
	_, err = w.raw.CreateBucket(w.ctx, meta.Bucket{Name: "b", Owner: "me", BucketSettings: meta.BucketSettings{Undo: time.Hour}})
	w.must(err)
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// put commits an empty object, by another instance if past is the raw ledger.
func (w *world) put(past interface {
	Commit(context.Context, meta.Commit) (meta.Committed, error)
}, key string, ttl time.Duration) lethe.ID {
	w.Helper()
	done, err := past.Commit(w.ctx, meta.Commit{Op: lethe.RandomID(w.clock.Now()), What: "put", Object: meta.Object{Bucket: "b", Key: key}, TTL: ttl})
	w.must(err)
	return done.Object.ID
}

func (w *world) resolves(key string) lethe.ID {
	w.Helper()
	got, err := w.ledger.Resolve(w.ctx, "b", key)
	w.must(err)
	return got.Object.ID
}

func (w *world) refuses(key string) {
	w.Helper()
	if got, err := w.ledger.Resolve(w.ctx, "b", key); !errors.Is(err, lethe.ErrUnavailable) {
		w.Errorf("%s: %v, %v; want ErrUnavailable", key, got.Object.ID, err)
	}
}

func TestWhatWasReadWithinTheWindow(t *testing.T) {
	w := newWorld(t)
	id := w.put(w.ledger, "read", 0)
	w.put(w.ledger, "unread", 0)
	w.resolves("read")
	w.raw.away = true
	if got := w.resolves("read"); got != id || w.answered != 1 {
		t.Errorf("got %s, answered %d", got, w.answered)
	}
	w.refuses("unread")
	w.clock.Advance(window)
	w.resolves("read")
	w.clock.Advance(time.Microsecond)
	w.refuses("read")
}

// While the ledger answers, memory is never asked.
func TestTheLedgerIsAskedWhileItAnswers(t *testing.T) {
	w := newWorld(t)
	w.put(w.ledger, "a", 0)
	w.resolves("a")
	newer := w.put(w.raw, "a", 0)
	if got := w.resolves("a"); got != newer || w.answered != 0 {
		t.Errorf("got %s, answered %d", got, w.answered)
	}
	_, err := w.raw.Delete(w.ctx, meta.Deletion{Op: lethe.RandomID(w.clock.Now()), Bucket: "b", Items: []meta.DeleteItem{{Key: "a"}}})
	w.must(err)
	if _, err := w.ledger.Resolve(w.ctx, "b", "a"); !errors.Is(err, lethe.ErrNoSuchKey) {
		t.Errorf("a deleted object: %v", err)
	}
	w.raw.away = true
	w.refuses("a") // what was found gone stays gone
}

func TestWhatEndsSoonIsNotAnswered(t *testing.T) {
	w := newWorld(t)
	w.put(w.ledger, "soon", window+time.Second)
	w.put(w.ledger, "later", 2*window+time.Second)
	w.resolves("soon")
	w.resolves("later")
	w.raw.away = true
	w.clock.Advance(2 * time.Second)
	w.refuses("soon")
	w.clock.Advance(window - 2*time.Second)
	w.resolves("later")
}

// What this instance changed it does not answer as it was.
func TestOwnChangesAreForgotten(t *testing.T) {
	w := newWorld(t)
	changes := map[string]func(key string) error{
		"commit": func(key string) error { w.put(w.ledger, key, 0); return nil },
		"delete": func(key string) error {
			_, err := w.ledger.Delete(w.ctx, meta.Deletion{Op: lethe.RandomID(w.clock.Now()), Bucket: "b", Items: []meta.DeleteItem{{Key: key}}})
			return err
		},
		"update": func(key string) error {
			_, err := w.ledger.Update(w.ctx, meta.Update{Op: lethe.RandomID(w.clock.Now()), Bucket: "b", Key: key, TTL: &meta.TTLChange{TTL: time.Hour}})
			return err
		},
	}
	for key, change := range changes {
		w.put(w.ledger, key, 0)
		w.resolves(key)
		w.must(change(key))
	}
	w.raw.away = true
	for key := range changes {
		w.refuses(key)
	}
}

// A ledger that is known to be away is not asked for what is remembered.
func TestAnAbsentLedgerIsNotAsked(t *testing.T) {
	w := newWorld(t)
	w.put(w.ledger, "a", 0)
	w.resolves("a")
	w.down, w.raw.away = true, true
	before := w.raw.asked
	w.resolves("a")
	if w.raw.asked != before {
		t.Error("it was asked")
	}
	w.refuses("b")
}

func TestBucketsAndKeys(t *testing.T) {
	w := newWorld(t)
	keyring := w.reads.Keys(w.raw)
	for range 2 {
		if b, err := w.ledger.Bucket(w.ctx, "b"); err != nil || b.Name != "b" {
			t.Errorf("bucket %v, %v", b, err)
		}
		if doc, err := w.ledger.Document(w.ctx, "b", "acl"); err != nil || doc != nil {
			t.Errorf("document %q, %v", doc, err)
		}
		if k, err := keyring.AccessKey(w.ctx, "k"); err != nil || k.ID != "k" {
			t.Errorf("key %v, %v", k, err)
		}
		w.raw.away = true
	}
}
