package intercept_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/blob/intercept"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// world is a breaker around a store whose faults the test decides.
type world struct {
	*intercept.Store
	*intercept.Breaker
	t        *testing.T
	clock    *clocktest.Clock
	counting *blobtest.Counting
	fault    blobtest.Fault
	openings []bool
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, clock: clocktest.At(1)}
	w.counting = blobtest.NewCounting(memblob.New(memblob.Options{}))
	faulty := blobtest.NewFaulty(w.counting, func(blobtest.Call) blobtest.Fault { return w.fault })
	w.Breaker = intercept.NewBreaker(intercept.BreakerOptions{Failures: 3, Clock: w.clock, Changed: func(s intercept.BreakerState) {
		w.openings = append(w.openings, s.Open)
	}})
	w.Store = intercept.New(faulty, w.Breaker)
	return w
}

func (w *world) put(key string) error {
	return w.Put(context.Background(), key, strings.NewReader("bytes"), 5)
}

// outages lets n puts fail by an outage.
func (w *world) outages(n int) {
	w.t.Helper()
	w.fault = blobtest.Fault{Kind: blobtest.Down}
	for range n {
		if err := w.put("store/aa/x"); !errors.Is(err, blob.ErrDown) {
			w.t.Fatalf("put: %v", err)
		}
	}
}

func TestItOpensAfterOutagesInARow(t *testing.T) {
	w := newWorld(t)
	w.outages(2)
	if w.State().Open || w.Writable() != nil {
		t.Fatal("open after two outages of three")
	}
	w.outages(1)
	if s := w.State(); !s.Open || s.Outages != 3 || s.LastErr == "" {
		t.Fatalf("state %+v", s)
	}
	w.fault = blobtest.Fault{}
	before := w.counting.Counts().Calls()
	for name, err := range map[string]error{"put": w.put("store/aa/y"), "stat": stat(w), "get": get(w), "delete": remove(w), "list": list(w)} {
		if !errors.Is(err, blob.ErrDown) || !errors.Is(err, blob.ErrNotDone) || blob.Unknown(err) {
			t.Errorf("%s while open: %v", name, err)
		}
	}
	if w.counting.Counts().Calls() != before {
		t.Error("a call went through an open breaker")
	}
	if err := w.Writable(); !errors.Is(err, blob.ErrDown) {
		t.Errorf("writable while open: %v", err)
	}
}

func stat(w *world) error { _, err := w.Stat(context.Background(), "store/aa/x"); return err }

func get(w *world) error {
	_, err := w.Get(context.Background(), "store/aa/x", 0, -1)
	return err
}

func remove(w *world) error {
	_, err := w.Delete(context.Background(), []string{"store/aa/x"})
	return err
}

func list(w *world) error {
	return w.List(context.Background(), "", "", func(blob.Info) error { return nil })
}

func TestAProbeClosesItOrDoublesThePause(t *testing.T) {
	w := newWorld(t)
	w.outages(3)
	w.clock.Advance(time.Second)
	if err := w.Writable(); err != nil {
		t.Errorf("after the pause it may be tried: %v", err)
	}
	if err := w.put("store/aa/y"); !errors.Is(err, blob.ErrDown) || blob.Unknown(err) {
		t.Fatalf("while the backend is still down: %v", err)
	}
	w.fault = blobtest.Fault{}
	w.clock.Advance(time.Second)
	if err := w.put("store/aa/y"); !errors.Is(err, blob.ErrDown) {
		t.Fatalf("the pause was not doubled: %v", err)
	}
	w.clock.Advance(time.Second)
	if err := w.put("store/aa/y"); err != nil {
		t.Fatalf("after the doubled pause: %v", err)
	}
	if len(w.openings) != 2 || !w.openings[0] || w.openings[1] || w.State().Openings != 1 {
		t.Errorf("told of %v, %+v", w.openings, w.State())
	}
}

func TestOneProbesWhileOthersAreRefused(t *testing.T) {
	w := newWorld(t)
	w.outages(3)
	w.clock.Advance(time.Second)
	w.fault = blobtest.Fault{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { _ = stat(w) })
	}
	wg.Wait()
	if w.State().Open {
		t.Error("still open")
	}
}

func TestWhatIsNoOutageLeavesItClosed(t *testing.T) {
	w := newWorld(t)
	for range 50 {
		if err := stat(w); !errors.Is(err, blob.ErrNotExist) {
			t.Fatal(err)
		}
		broken := io.MultiReader(strings.NewReader("by"), brokenBody{})
		if err := w.Put(context.Background(), "store/aa/z", broken, 5); err == nil {
			t.Fatal("a broken body was stored")
		}
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		_ = w.Put(gone, "store/aa/z", strings.NewReader("bytes"), 5)
	}
	if s := w.State(); s.Open || s.Outages != 0 {
		t.Errorf("state %+v", s)
	}
}

type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestItOpensWhenMostCallsFail(t *testing.T) {
	w := newWorld(t)
	for i := range 21 {
		w.fault = blobtest.Fault{}
		if i%2 == 0 {
			w.fault = blobtest.Fault{Kind: blobtest.DoneError}
		}
		_ = w.put("store/aa/" + string(rune('a'+i)))
	}
	if !w.State().Open {
		t.Error("closed though more than half of the calls failed")
	}
}

func TestAFullBackendTakesNoWritesForAWhile(t *testing.T) {
	c := clocktest.At(1)
	b := intercept.NewBreaker(intercept.BreakerOptions{Clock: c})
	s := intercept.New(memblob.New(memblob.Options{Limit: 3}), b)
	if err := s.Put(context.Background(), "store/aa/x", strings.NewReader("bytes"), 5); !errors.Is(err, blob.ErrFull) {
		t.Fatal(err)
	}
	if err := b.Writable(); !errors.Is(err, blob.ErrFull) || b.State().Open {
		t.Errorf("writable: %v", err)
	}
	c.Advance(30 * time.Second)
	if err := b.Writable(); err != nil {
		t.Errorf("writable later: %v", err)
	}
}

// onlyRead is a hook that refuses writes as a disk does that is mounted read-only, until that is
// over.
type onlyRead struct{ over *bool }

func (o onlyRead) Around(c *intercept.Call) error {
	if c.Op == intercept.Put && !*o.over {
		return fmt.Errorf("%w: %w: %w: read-only", blob.ErrNotDone, blob.ErrDown, blob.ErrUnfit)
	}
	return c.Next()
}

// TestABackendThatOnlyReads: a backend that refuses every write gets none for a while, and is
// read meanwhile.
func TestABackendThatOnlyReads(t *testing.T) {
	c, ctx := clocktest.At(1), context.Background()
	store := memblob.New(memblob.Options{})
	if err := store.Put(ctx, "store/aa/x", strings.NewReader("bytes"), 5); err != nil {
		t.Fatal(err)
	}
	b := intercept.NewBreaker(intercept.BreakerOptions{Clock: c})
	over := false
	s := intercept.New(store, b, onlyRead{&over})
	for range 50 {
		if err := s.Put(ctx, "store/aa/y", strings.NewReader("bytes"), 5); !errors.Is(err, blob.ErrUnfit) {
			t.Fatal(err)
		}
	}
	if _, err := s.Stat(ctx, "store/aa/x"); err != nil || b.State().Open {
		t.Errorf("a read after refused writes: %v", err)
	}
	if err := b.Writable(); !errors.Is(err, blob.ErrUnfit) || errors.Is(err, blob.ErrDown) {
		t.Errorf("writable: %v", err)
	}
	c.Advance(30 * time.Second)
	if err := b.Writable(); err != nil {
		t.Errorf("writable later: %v", err)
	}
	if why := b.Unfit(); !strings.Contains(why, "read-only") {
		t.Errorf("before a write succeeds, it is not said why none does: %q", why)
	}
	over = true
	if err := s.Put(ctx, "store/aa/y", strings.NewReader("bytes"), 5); err != nil || b.Unfit() != "" {
		t.Errorf("a write that succeeds: %v, %q", err, b.Unfit())
	}
}
