package intercept_test

import (
	"errors"
	"io"
	"testing"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/blob/intercept"
	"github.com/lethe-storage/lethe/blob/memblob"
)

// hooks are all of them, in the order of the product.
func hooks() []intercept.Hook {
	return []intercept.Hook{new(intercept.MountGuard), intercept.NewBreaker(intercept.BreakerOptions{}), new(calls).observation()}
}

func TestConformance(t *testing.T) {
	run := func(name string, pick func() []intercept.Hook) {
		t.Run(name, func(t *testing.T) {
			blobtest.Run(t, func(*testing.T) blob.Store { return intercept.New(memblob.New(memblob.Options{}), pick()...) })
		})
	}
	run("none", func() []intercept.Hook { return nil })
	for i, name := range []string{"guard", "breaker", "observation"} {
		run(name, func() []intercept.Hook { return hooks()[i : i+1] })
	}
	run("all", hooks)
	t.Run("nested", func(t *testing.T) {
		blobtest.Run(t, func(*testing.T) blob.Store {
			return intercept.New(intercept.New(memblob.New(memblob.Options{}), hooks()[2]), hooks()[:2]...)
		})
	})
}

// A body that no caller gets, since the guard was shut while it was opened, is closed
// and reported.
func TestABodyThatIsDiscardedIsClosed(t *testing.T) {
	c, g, inner := new(calls), new(intercept.MountGuard), memblob.New(memblob.Options{})
	inner.Set("a/b", []byte("bytes"))
	shutting := blobtest.NewFaulty(inner, func(blobtest.Call) blobtest.Fault {
		g.Shut("no disk")
		return blobtest.Fault{}
	})
	body, err := intercept.New(shutting, g, c.observation()).Get(t.Context(), "a/b", 0, -1)
	if body != nil || !errors.Is(err, blob.ErrMisplaced) || !blob.Unknown(err) {
		t.Errorf("%v, %v", body, err)
	}
	if len(c.list) != 1 || c.list[0].Err != nil {
		t.Errorf("reported %+v", c.list)
	}
}

// Reads that fail count as the call that opened the body does.
func TestBodiesThatFailOpenTheBreaker(t *testing.T) {
	c, b, inner := new(calls), intercept.NewBreaker(intercept.BreakerOptions{Least: 4}), memblob.New(memblob.Options{})
	inner.Set("a/b", []byte("bytes"))
	breaking := blobtest.NewFaulty(inner, func(blobtest.Call) blobtest.Fault { return blobtest.Fault{Kind: blobtest.Partial, Keep: 2} })
	s := intercept.New(breaking, b, c.observation())
	for i := range 2 {
		if b.State().Open {
			t.Fatalf("open after %d bodies", i)
		}
		body, err := s.Get(t.Context(), "a/b", 0, -1)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(body); string(text) != "by" || !blobtest.Injected(err) {
			t.Errorf("read %q, %v", text, err)
		}
		body.Close()
		if got := c.list[i]; got.Bytes != 2 || !blobtest.Injected(got.Err) {
			t.Errorf("reported %+v", got)
		}
	}
	if _, err := s.Stat(t.Context(), "a/b"); !b.State().Open || !errors.Is(err, blob.ErrNotDone) {
		t.Errorf("%+v, %v", b.State(), err)
	}
}
