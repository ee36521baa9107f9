package intercept_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/blob/intercept"
	"github.com/lethe-storage/lethe/blob/memblob"
)

// everyCall makes every call on an empty store, and returns the error of each.
func everyCall(ctx context.Context, s blob.Store) map[string]error {
	_, get := s.Get(ctx, "a/b", 0, -1)
	_, stat := s.Stat(ctx, "a/b")
	_, del := s.Delete(ctx, []string{"a/b"})
	list := s.List(ctx, "", "", func(blob.Info) error { return nil })
	return map[string]error{
		"get": get, "stat": stat, "delete": del, "list": list,
		"put": s.Put(ctx, "a/c", strings.NewReader("x"), 1),
	}
}

// While the guard is shut nothing is written, and nothing is reported absent.
func TestShut(t *testing.T) {
	inner, g := memblob.New(memblob.Options{}), new(intercept.MountGuard)
	s := intercept.New(inner, g)
	if !g.Shut("no disk") || g.Shut("no disk at all") || g.Misplaced() != "no disk at all" || s.Down() != g.Misplaced() {
		t.Error("shut: what was reported is wrong")
	}
	for call, err := range everyCall(t.Context(), s) {
		if !errors.Is(err, blob.ErrDown) || !errors.Is(err, blob.ErrMisplaced) || blob.Unknown(err) || errors.Is(err, blob.ErrNotExist) ||
			!strings.Contains(err.Error(), "no disk at all") {
			t.Errorf("%s: %v", call, err)
		}
	}
	if inner.Len() != 0 {
		t.Error("something was written")
	}
	if !g.Open() || g.Open() || s.Down() != "" {
		t.Error("open: what was reported is wrong")
	}
	if err := s.Put(t.Context(), "a/c", strings.NewReader("x"), 1); err != nil {
		t.Error(err)
	}
}

// The result of a call during which the guard was shut does not count: another
// store may have given it.
func TestShutDuringACall(t *testing.T) {
	g := new(intercept.MountGuard)
	inner := blobtest.NewFaulty(memblob.New(memblob.Options{}), func(blobtest.Call) blobtest.Fault {
		g.Shut("for a moment")
		g.Open()
		return blobtest.Fault{}
	})
	for call, err := range everyCall(t.Context(), intercept.New(inner, g)) {
		if !errors.Is(err, blob.ErrDown) || errors.Is(err, blob.ErrNotExist) || !blob.Unknown(err) {
			t.Errorf("%s: %v", call, err)
		}
	}
}

// A body that was opened before is read to its end.
func TestBodiesOutliveTheGuard(t *testing.T) {
	g := new(intercept.MountGuard)
	s := intercept.New(memblob.New(memblob.Options{}), g)
	if err := s.Put(t.Context(), "a/b", strings.NewReader("bytes"), 5); err != nil {
		t.Fatal(err)
	}
	body, err := s.Get(t.Context(), "a/b", 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	g.Shut("no disk")
	if data, err := io.ReadAll(body); err != nil || string(data) != "bytes" {
		t.Errorf("%q, %v", data, err)
	}
}

// Absence is reported only after the check that it is certain.
func TestAbsenceIsAskedFor(t *testing.T) {
	g := new(intercept.MountGuard)
	s := intercept.New(memblob.New(memblob.Options{}), g)
	doubt, asked := fmt.Errorf("another disk: %w", lethe.ErrBackendMismatch), 0
	g.Absent = func(_ context.Context, key string) error {
		if asked++; key != "a/b" {
			t.Errorf("asked for %s", key)
		}
		return doubt
	}
	look := func() []error {
		_, get := s.Get(t.Context(), "a/b", 0, -1)
		_, stat := s.Stat(t.Context(), "a/b")
		return []error{get, stat}
	}
	for _, err := range look() {
		if errors.Is(err, blob.ErrNotExist) || !errors.Is(err, blob.ErrDown) || !errors.Is(err, blob.ErrMisplaced) || !errors.Is(err, doubt) {
			t.Errorf("in doubt: %v", err)
		}
	}
	for _, outage := range []error{context.DeadlineExceeded, lethe.ErrUnavailable, blob.ErrUnknown} {
		doubt = fmt.Errorf("read the epoch: %w", outage)
		for _, err := range look() {
			if errors.Is(err, blob.ErrNotExist) || !errors.Is(err, blob.ErrDown) || errors.Is(err, blob.ErrMisplaced) || !errors.Is(err, doubt) {
				t.Errorf("the check did not end: %v", err)
			}
		}
	}
	doubt = nil
	for _, err := range look() {
		if !errors.Is(err, blob.ErrNotExist) {
			t.Errorf("without a doubt: %v", err)
		}
	}
	if err := s.Put(t.Context(), "a/b", strings.NewReader("x"), 1); err != nil {
		t.Fatal(err)
	}
	for _, err := range look() {
		if err != nil {
			t.Errorf("what is there: %v", err)
		}
	}
	if asked != 10 {
		t.Errorf("asked %d times, want 10", asked)
	}
}
