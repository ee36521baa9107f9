package fsblob_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/blob/fsblob"
	"github.com/lethe-storage/lethe/blob/intercept"
)

func foreignIn(root string) blobtest.Planter {
	return func(t *testing.T, key, body string) {
		t.Helper()
		path := filepath.Join(root, filepath.FromSlash(key))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(body), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

func openRoot(t *testing.T, root string) *fsblob.Store {
	t.Helper()
	s, err := fsblob.Open(fsblob.Options{Root: root, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestForeign(t *testing.T) {
	blobtest.Foreign(t, func(t *testing.T) (blob.Store, blobtest.Planter) {
		root := t.TempDir()
		return openRoot(t, root), foreignIn(root)
	})
}

// The wrappers around a store pass the ability on.
func TestForeignBehindWrappers(t *testing.T) {
	watch := func(ctx context.Context, _ string) (context.Context, func(intercept.Report)) {
		return ctx, func(intercept.Report) {}
	}
	blobtest.Foreign(t, func(t *testing.T) (blob.Store, blobtest.Planter) {
		root := t.TempDir()
		return intercept.New(openRoot(t, root), new(intercept.MountGuard), intercept.NewBreaker(intercept.BreakerOptions{}),
			intercept.Observation{Watch: watch, Clock: lethe.Monotonic{}}), foreignIn(root)
	})
}

// Names that lead out of the folder, are no files, or belong to the store are not
// read.
func TestForeignFilesThatAreNone(t *testing.T) {
	root, out := t.TempDir(), t.TempDir()
	foreignIn(out)(t, "secret", "x")
	foreignIn(root)(t, ".tmp/x", "x")
	s := openRoot(t, root)
	err := errors.Join(os.Symlink(filepath.Join(out, "secret"), filepath.Join(root, "link")),
		os.Symlink(out, filepath.Join(root, "away")), syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	foreignIn(root)(t, "folder/x", "x")
	for _, key := range []string{"link", "away/secret", "pipe", ".tmp/x", "folder/", "folder/x/"} {
		if info, err := s.StatForeign(t.Context(), key); err == nil {
			t.Errorf("stat of %q: %+v", key, info)
		}
		if _, err := s.OpenForeign(t.Context(), blob.ForeignInfo{Info: blob.Info{Key: key, Size: 1}, Tag: "x"}); err == nil {
			t.Errorf("%q was opened", key)
		}
	}
}
