package stale

import (
	"context"
	"errors"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/meta"
)

// remove deletes a key by another instance.
func (w *world) remove(key string) {
	w.Helper()
	_, err := w.raw.Delete(w.ctx, meta.Deletion{Op: lethe.RandomID(w.clock.Now()), Bucket: "b", Items: []meta.DeleteItem{{Key: key}}})
	w.must(err)
}

// A restore replaces what lies under a key that it does not name.
func TestARestoreIsForgotten(t *testing.T) {
	w := newWorld(t)
	w.put(w.raw, "a", 0)
	w.remove("a")
	newer := w.put(w.raw, "a", 0)
	if got := w.resolves("a"); got != newer {
		t.Fatalf("got %s", got)
	}
	trash, err := w.raw.Trash(w.ctx, meta.TrashQuery{Bucket: "b"})
	w.must(err)
	if len(trash) != 1 {
		t.Fatalf("%d entries in the trash", len(trash))
	}
	_, err = w.ledger.Restore(w.ctx, lethe.RandomID(w.clock.Now()), trash[0].ID, true)
	w.must(err)
	w.raw.away = true
	w.refuses("a")
}

// A read that was begun before a change, and is answered after it, is not
// remembered.
func TestAReadThatAChangeOvertakes(t *testing.T) {
	w := newWorld(t)
	older := w.put(w.raw, "a", 0)
	w.raw.meanwhile = func() { w.put(w.ledger, "a", 0) }
	if got := w.resolves("a"); got != older {
		t.Fatalf("got %s", got)
	}
	w.raw.meanwhile, w.raw.away = nil, true
	w.refuses("a")
}

// A bucket that was deleted leaves nothing to another one of its name.
func TestADeletedBucketIsForgotten(t *testing.T) {
	w := newWorld(t)
	w.must(w.raw.PutDocument(w.ctx, meta.Document{Bucket: "b", Kind: "policy", Body: []byte("{}")}))
	if doc, err := w.ledger.Document(w.ctx, "b", "policy"); err != nil || string(doc) != "{}" {
		t.Fatalf("document %q, %v", doc, err)
	}
	w.must(w.ledger.DeleteBucket(w.ctx, "b"))
	_, err := w.ledger.CreateBucket(w.ctx, meta.Bucket{Name: "b", Owner: "another"})
	w.must(err)
	w.reads.o.Down = func() bool { return true }
	if doc, err := w.ledger.Document(w.ctx, "b", "policy"); err != nil || doc != nil {
		t.Errorf("document %q, %v", doc, err)
	}
}

// acting is a ledger whose routines do as they are told.
type acting struct {
	*flaky
	promote func() (meta.Committed, error)
	restamp func() (meta.Restamped, error)
}

func (a acting) Promote(context.Context, int64, lethe.ID, lethe.BlockSums) (meta.Committed, error) {
	return a.promote()
}
func (a acting) Restamp(context.Context, int) (meta.Restamped, error) { return a.restamp() }

func TestWhatTheEngineChangesIsForgotten(t *testing.T) {
	w := newWorld(t)
	replaced := meta.Committed{Object: meta.Object{Bucket: "b", Key: "a"}}
	for name, c := range map[string]struct {
		promoted meta.Committed
		err      error
		stamped  int
		kept     bool
	}{
		"a write is finished":              {promoted: replaced},
		"a write may have been finished":   {err: lethe.ErrUnknownOutcome},
		"a write was superseded":           {err: lethe.ErrPreconditionFailed, kept: true},
		"ends are stamped anew":            {err: lethe.ErrFenced, stamped: 3},
		"rules that end nothing were seen": {err: lethe.ErrFenced, kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			w.T, w.raw.away = t, false
			w.put(w.raw, "a", 0)
			w.resolves("a")
			engine := w.reads.Engine(acting{w.raw, func() (meta.Committed, error) { return c.promoted, c.err },
				func() (meta.Restamped, error) { return meta.Restamped{Changed: c.stamped}, nil }})
			_, err := engine.Promote(w.ctx, 1, "blob", lethe.BlockSums{})
			if !errors.Is(err, c.err) {
				t.Fatal(err)
			}
			_, err = engine.Restamp(w.ctx, 10)
			w.must(err)
			w.raw.away = true
			if c.kept {
				w.resolves("a")
			} else {
				w.refuses("a")
			}
		})
	}
}

func TestAKeyThatWasTakenAway(t *testing.T) {
	w := newWorld(t)
	keyring := w.reads.Keys(w.raw)
	_, err := keyring.AccessKey(w.ctx, "k")
	w.must(err)
	w.reads.ForgetKey("k")
	w.raw.away = true
	if k, err := keyring.AccessKey(w.ctx, "k"); !errors.Is(err, lethe.ErrUnavailable) {
		t.Errorf("key %v, %v", k, err)
	}
}
