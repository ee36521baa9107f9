package blobtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/blob/memblob"
)

// The wrappers keep the contract when they let everything through.
func TestConformanceOfWrappers(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blob.Store {
		var calls, events atomic.Int64
		faulty := blobtest.NewFaulty(memblob.New(memblob.Options{}), func(blobtest.Call) blobtest.Fault {
			calls.Add(1)
			return blobtest.Fault{}
		})
		t.Cleanup(func() {
			if calls.Load() == 0 || events.Load() == 0 {
				t.Errorf("%d calls, %d events", calls.Load(), events.Load())
			}
		})
		return blobtest.NewCounting(blobtest.NewRecorder(faulty, func(string) { events.Add(1) }))
	})
}

// faulted returns a store with the keys a and b, and a wrapper around it whose
// every call has the fault.
func faulted(t *testing.T, fault blobtest.Fault) (*memblob.Store, *blobtest.Faulty) {
	t.Helper()
	inner := memblob.New(memblob.Options{})
	inner.Set("a", []byte("1"))
	inner.Set("b", []byte("22"))
	return inner, blobtest.NewFaulty(inner, func(blobtest.Call) blobtest.Fault { return fault })
}

func TestFaultsOfPutAndDelete(t *testing.T) {
	for _, test := range []struct {
		kind    blobtest.Kind
		effect  bool
		unknown bool
		is      error
	}{
		{blobtest.NotDone, false, false, blob.ErrNotDone},
		{blobtest.DoneError, true, true, blob.ErrUnknown},
		{blobtest.Late, false, true, blob.ErrUnknown},
		{blobtest.Down, false, false, blob.ErrDown},
	} {
		t.Run(test.kind.String(), func(t *testing.T) {
			custom := errors.New("custom")
			inner, s := faulted(t, blobtest.Fault{Kind: test.kind, Err: custom})
			err := s.Put(t.Context(), "c", strings.NewReader("333"), 3)
			_, derr := s.Delete(t.Context(), []string{"a"})
			for _, err := range []error{err, derr} {
				if !errors.Is(err, test.is) || !errors.Is(err, custom) || !blobtest.Injected(err) || blob.Unknown(err) != test.unknown {
					t.Errorf("error %v, outcome open: %v", err, blob.Unknown(err))
				}
			}
			want := []string{"a", "b"}
			if test.effect {
				want = []string{"b", "c"}
			}
			if got := inner.Keys(); !slices.Equal(got, want) {
				t.Errorf("keys %q; want %q", got, want)
			}
		})
	}
}

func TestLateEffectsLandWhenReleased(t *testing.T) {
	inner, s := faulted(t, blobtest.Fault{Kind: blobtest.Late})
	body := []byte("333")
	_ = s.Put(t.Context(), "c", bytes.NewReader(body), 3)
	_, _ = s.Delete(t.Context(), []string{"a", "x"})
	late := s.Late()
	if len(late) != 2 || len(s.Late()) != 0 {
		t.Fatalf("%d late effects; want 2, once", len(late))
	}
	copy(body, "xxx") // the caller may reuse its buffer
	for _, l := range slices.Backward(late) {
		if err := errors.Join(l.Release(t.Context()), l.Release(t.Context())); err != nil {
			t.Errorf("%s: %v", l.Call.Op, err)
		}
	}
	if got := inner.Keys(); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("keys %q", got)
	}
	if data, _ := inner.Bytes("c"); string(data) != "333" {
		t.Errorf("the late put stored %q", data)
	}
	if err := s.Put(t.Context(), "d", strings.NewReader("4"), 9); blob.Unknown(err) || len(s.Late()) != 0 {
		t.Errorf("a late put of a wrong body: %v", err)
	}
}

func TestPartialDelete(t *testing.T) {
	outcomes := map[string]blobtest.Outcome{
		"k0": blobtest.KeyDone, "k1": blobtest.KeyRefused, "k2": blobtest.KeyUnknown,
		"k3": blobtest.KeyDoneError, "k4": blobtest.KeyLost, "k5": blobtest.KeySkipped, "k6": blobtest.KeyDone,
	}
	inner, s := faulted(t, blobtest.Fault{
		Kind: blobtest.Partial,
		Key:  func(_ int, key string) blobtest.Outcome { return outcomes[key] },
	})
	var keys []string
	for i := range len(outcomes) {
		keys = append(keys, fmt.Sprintf("k%d", i))
		if i < 6 {
			inner.Set(keys[i], nil)
		}
	}
	results, err := s.Delete(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range results {
		got = append(got, r.Key+" "+blobtest.Name(r.Err))
	}
	want := []string{"k0 ok", "k1 not-done", "k2 unknown", "k3 unknown", "k6 not-exist"}
	if !slices.Equal(got, want) {
		t.Errorf("results %q; want %q", got, want)
	}
	if got := inner.Keys(); !slices.Equal(got, []string{"a", "b", "k1", "k2", "k5"}) {
		t.Errorf("keys %q", got)
	}
}

func TestPartialReads(t *testing.T) {
	_, s := faulted(t, blobtest.Fault{Kind: blobtest.Partial, Keep: 1})
	rc, err := s.Get(t.Context(), "b", 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(rc)
	if string(data) != "2" || !blobtest.Injected(err) {
		t.Errorf("read %q, %v; want one byte and a fault", data, err)
	}
	n := 0
	err = s.List(t.Context(), "", "", func(blob.Info) error { n++; return nil })
	if n != 1 || !blobtest.Injected(err) {
		t.Errorf("listed %d, %v; want one and a fault", n, err)
	}
}

func TestDisorder(t *testing.T) {
	_, s := faulted(t, blobtest.Fault{Kind: blobtest.Disorder})
	var keys []string
	err := s.List(t.Context(), "", "", func(info blob.Info) error {
		keys = append(keys, info.Key)
		return nil
	})
	if err != nil || !slices.Equal(keys, []string{"b", "a"}) {
		t.Errorf("listed %q, %v", keys, err)
	}
}

func TestSlowCallWaits(t *testing.T) {
	gate := make(chan struct{})
	inner, s := faulted(t, blobtest.Fault{Wait: gate})
	done := make(chan error)
	go func() { done <- s.Put(context.Background(), "c", strings.NewReader("3"), 1) }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Delete(ctx, []string{"a"})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, blob.ErrNotDone) || inner.Len() != 2 {
		t.Errorf("a slow call that was cancelled: %v, %d keys", err, inner.Len())
	}
	close(gate)
	if err := <-done; err != nil || inner.Len() != 3 {
		t.Errorf("a slow call that was let go: %v, %d keys", err, inner.Len())
	}
}

func TestRecorderTellsTheOrder(t *testing.T) {
	var trace []string
	inner, faulty := faulted(t, blobtest.Fault{Kind: blobtest.Partial, Key: func(i int, _ string) blobtest.Outcome {
		return []blobtest.Outcome{blobtest.KeyDone, blobtest.KeyLost}[i]
	}})
	tell := func(event string) { trace = append(trace, event) }
	r := blobtest.NewRecorder(inner, tell)
	_ = r.Put(t.Context(), "a", strings.NewReader("x"), 1)
	_, _ = blobtest.NewRecorder(faulty, tell).Delete(t.Context(), []string{"a", "b"})
	_, _ = r.Stat(t.Context(), "a")
	want := []string{
		"blob put begin a", "blob put end a exist",
		"blob delete begin a", "blob delete begin b", "blob delete end a ok", "blob delete end b missing",
		"blob stat begin a", "blob stat end a not-exist",
	}
	if !slices.Equal(trace, want) {
		t.Errorf("trace %q; want %q", trace, want)
	}
}

func TestCounting(t *testing.T) {
	inner, _ := faulted(t, blobtest.Fault{})
	c := blobtest.NewCounting(inner)
	_ = c.Put(t.Context(), "c", strings.NewReader("333"), 3)
	_ = c.Put(t.Context(), "c", strings.NewReader("333"), 3)
	rc, err := c.Get(t.Context(), "b", 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadAll(rc)
	_, _ = c.Stat(t.Context(), "a")
	_ = c.List(t.Context(), "", "", func(blob.Info) error { return nil })
	_, _ = c.Delete(t.Context(), []string{"a", "b", "x"})
	want := blobtest.Counts{
		Puts: 2, Gets: 1, Stats: 1, Deletes: 1, Lists: 1,
		DeleteKeys: 3, ListKeys: 3, BytesIn: 6, BytesOut: 2, Errors: 1,
	}
	if got := c.Reset(); got != want || got.Calls() != 6 {
		t.Errorf("counts %+v; want %+v", got, want)
	}
	if got := c.Counts(); got != (blobtest.Counts{}) {
		t.Errorf("counts %+v after a reset", got)
	}
}
