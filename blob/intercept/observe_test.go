package intercept_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/blob/intercept"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/blob/treeblob"
)

// calls collects the reported calls.
type calls struct {
	mu    sync.Mutex
	begun int
	list  []intercept.Report
}

func (c *calls) observation() intercept.Observation {
	return intercept.Observation{Watch: c.watch, Clock: lethe.Monotonic{}}
}

type seen struct{}

func (c *calls) watch(ctx context.Context, _ string) (context.Context, func(intercept.Report)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun++
	return context.WithValue(ctx, seen{}, true), func(call intercept.Report) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.list = append(c.list, call)
	}
}

// A copy is reported as one call, though both stores are observed.
func TestItCopies(t *testing.T) {
	c := new(calls)
	blobtest.Copies(t, func(t *testing.T) (blob.Store, blobtest.Planter) {
		root := t.TempDir()
		if err := os.MkdirAll(filepath.Join(root, "in"), 0o700); err != nil {
			t.Fatal(err)
		}
		tree, err := treeblob.Open(treeblob.Options{Root: root, Prefix: "in/"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = tree.Close() })
		return intercept.New(tree, c.observation()), func(t *testing.T, key, body string) {
			path := filepath.Join(root, "in", key)
			_ = os.Remove(path) // a copy is another name of the same file
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(body), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	})
	if !slices.ContainsFunc(c.list, func(call intercept.Report) bool {
		return call.Op == intercept.Copy && call.Bytes > 0 && call.Err == nil
	}) {
		t.Errorf("no copy is told: %+v", c.list)
	}
}

// Every call is reported once, when it ended, with its data.
func TestWhatIsTold(t *testing.T) {
	ctx, c := context.Background(), &calls{}
	s := intercept.New(memblob.New(memblob.Options{}), c.observation())
	if err := s.Put(ctx, "a/b", strings.NewReader("bytes"), 5); err != nil {
		t.Fatal(err)
	}
	body, err := s.Get(ctx, "a/b", 1, 3)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.list) != 1 {
		t.Errorf("a body that is open was told: %+v", c.list)
	}
	if text, err := io.ReadAll(body); err != nil || string(text) != "yte" {
		t.Errorf("read %q, %v", text, err)
	}
	for range 2 {
		body.Close()
	}
	if _, err := s.Stat(ctx, "a/c"); !errors.Is(err, blob.ErrNotExist) {
		t.Error(err)
	}
	stop := errors.New("enough")
	if err := s.List(ctx, "", "", func(blob.Info) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	if _, err := s.Delete(ctx, []string{"a/b", "a/c", "NO KEY"}); err != nil {
		t.Error(err)
	}
	if _, err := s.Free(ctx); c.begun != len(c.list) {
		t.Errorf("%d calls were begun, %d ended (%v)", c.begun, len(c.list), err)
	}
	for i, want := range []intercept.Report{
		{Op: intercept.Put, Key: "a/b", Keys: 1, Bytes: 5},
		{Op: intercept.Get, Key: "a/b", Keys: 1, Bytes: 3},
		{Op: intercept.Stat, Key: "a/c", Keys: 1, Err: blob.ErrNotExist},
		{Op: intercept.List, Keys: 1},
		{Op: intercept.Delete, Keys: 3, Failed: 1, Err: blob.ErrInvalidKey},
	} {
		got := c.list[i]
		if got.Op != want.Op || got.Key != want.Key || got.Keys != want.Keys || got.Bytes != want.Bytes ||
			got.Failed != want.Failed || !errors.Is(got.Err, want.Err) || got.Took < 0 {
			t.Errorf("told %+v, want %+v", got, want)
		}
	}
}
