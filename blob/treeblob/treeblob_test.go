//go:build linux || darwin || freebsd

package treeblob

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
)

// tree is a folder of another program.
type tree struct {
	*Store
	t    *testing.T
	root string
}

func newTree(t *testing.T) *tree {
	t.Helper()
	f := &tree{t: t, root: t.TempDir()}
	f.plant("media/keep", "keep")
	s, err := Open(Options{Root: f.root, Prefix: "media/"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	f.Store = s
	return f
}

// plant writes a file as careful programs do: whole, under another name first.
func (f *tree) plant(path, body string) {
	f.t.Helper()
	path = filepath.Join(f.root, path)
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path+".part", []byte(body), 0o600), os.Rename(path+".part", path))
	if err != nil {
		f.t.Fatal(err)
	}
}

// aged lets a folder be old.
func (f *tree) aged(path string) {
	f.t.Helper()
	old := lethe.SystemClock{}.Now().Add(-time.Hour).Time()
	if err := os.Chtimes(filepath.Join(f.root, path), old, old); err != nil {
		f.t.Fatal(err)
	}
}

func (f *tree) there(path string) bool {
	_, err := os.Lstat(filepath.Join(f.root, path))
	return err == nil
}

func (f *tree) keys(prefix, after string) (keys []string) {
	f.t.Helper()
	if err := f.List(f.t.Context(), prefix, after, func(i blob.Info) error { keys = append(keys, i.Key); return nil }); err != nil {
		f.t.Fatal(err)
	}
	return keys
}

func (f *tree) delete(keys ...string) []blob.Result {
	f.t.Helper()
	results, err := f.Delete(f.t.Context(), keys)
	if err != nil {
		f.t.Fatal(err)
	}
	return results
}

func planted(t *testing.T) (blob.Store, blobtest.Planter) {
	f := newTree(t)
	return f.Store, func(_ *testing.T, key, body string) { f.plant("media/"+key, body) }
}

func TestForeign(t *testing.T) { blobtest.Foreign(t, planted) }

func TestCopies(t *testing.T) { blobtest.Copies(t, planted) }

// What is put is whole, replaces nothing, and leaves no other file; a folder of the
// caller's own is made when it is needed.
func TestPut(t *testing.T) {
	f := newTree(t)
	s, err := Open(Options{Root: f.root, Prefix: "kept/x/", Beside: "media/"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	var keys []string
	list := func(i blob.Info) error { keys = append(keys, i.Key); return nil }
	if err := s.List(t.Context(), "", "", list); err != nil || len(keys) > 0 {
		t.Errorf("before: %q, %v", keys, err)
	}
	if err := s.Put(t.Context(), "a/b", strings.NewReader("12"), 2); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "a/b", strings.NewReader("34"), 2); !errors.Is(err, blob.ErrExist) {
		t.Errorf("once more: %v", err)
	}
	no := errors.New("no")
	for what, err := range map[string]error{
		"short":   s.Put(t.Context(), "a/c", strings.NewReader("1"), 2),
		"long":    s.Put(t.Context(), "a/c", strings.NewReader("123"), 2),
		"refused": s.Put(blob.WithCheck(t.Context(), func() error { return no }), "a/c", strings.NewReader("12"), 2),
	} {
		if err == nil || blob.Unknown(err) {
			t.Errorf("%s: %v, want that it is certainly not done", what, err)
		}
	}
	if err := s.List(t.Context(), "", "", list); err != nil || !slices.Equal(keys, []string{"a/b"}) {
		t.Errorf("listed %q, %v", keys, err)
	}
	names, err := os.ReadDir(filepath.Join(f.root, "kept/x/a"))
	if err != nil || len(names) != 1 {
		t.Errorf("the folder has %v, %v", names, err)
	}
}

// Listings are in the order of bytes, and begin after a key.
func TestListOrder(t *testing.T) {
	f := newTree(t)
	for _, key := range []string{"a-b", "a.b", "a0", "b0", "a", "c/d", "c/d-", "c.d", "c0"} {
		f.plant("media/"+key, "x")
	}
	all := []string{"a", "a-b", "a.b", "a0", "b0", "c.d", "c/d", "c/d-", "c0", "keep"}
	if got := f.keys("", ""); !slices.Equal(got, all) {
		t.Errorf("listed %q", got)
	}
	for i, after := range all {
		if got := f.keys("", after); !slices.Equal(got, all[i+1:]) {
			t.Errorf("after %q %q are listed", after, got)
		}
	}
	if got := f.keys("c/", ""); !slices.Equal(got, []string{"c/d", "c/d-"}) {
		t.Errorf("below c/ %q are listed", got)
	}
}

// Links, hidden names, and names elsewhere are neither listed nor touched.
func TestWhatIsLeftAlone(t *testing.T) {
	f := newTree(t)
	f.plant("outside/secret", "s")
	f.plant("media/a/file", "f")
	f.plant("media/.hidden/file", "h")
	f.plant("media/a/.file", "h")
	for name, target := range map[string]string{"media/link": "../outside", "media/a/link": "file", "media/absolute": filepath.Join(f.root, "outside"), "media/broken": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(f.root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.keys("", ""); !slices.Equal(got, []string{"a/file", "keep"}) {
		t.Errorf("listed %q", got)
	}
	for _, key := range []string{"link/secret", "absolute/secret", "../outside/secret", "a/link", "link", "broken"} {
		if r := f.delete(key); r[0].Err == nil {
			t.Errorf("%s was deleted", key)
		}
		if _, err := f.StatForeign(t.Context(), key); err == nil || errors.Is(err, blob.ErrNotExist) && strings.Contains(key, "link") && key != "link/secret" {
			t.Errorf("stat of %s: %v", key, err)
		}
	}
	if !f.there("outside/secret") || !f.there("media/a/link") || !f.there("media/link") {
		t.Error("something was removed through a link, or a link itself")
	}
}

// Names that are no text are listed as they are, for the caller to report.
func TestOddNames(t *testing.T) {
	f := newTree(t)
	f.plant("media/b\xff", "x")
	f.plant("media/line\nbreak", "x")
	if got := f.keys("", ""); !slices.Equal(got, []string{"b\xff", "keep", "line\nbreak"}) {
		t.Errorf("listed %q", got)
	}
	for _, r := range f.delete("b\xff", "line\nbreak") {
		if !errors.Is(r.Err, blob.ErrInvalidKey) || blob.Unknown(r.Err) {
			t.Errorf("%q: %v", r.Key, r.Err)
		}
	}
}

// Folders are removed after their last file, upwards, but not that of the prefix,
// and none that another program has changed recently.
func TestEmptyFoldersGo(t *testing.T) {
	f := newTree(t)
	f.plant("media/a/b/c/1", "1")
	f.plant("media/a/b/c/2", "2")
	f.plant("media/young/1", "1")
	for _, folder := range []string{"media/a/b/c", "media/a/b", "media/a"} {
		f.aged(folder)
	}
	f.delete("a/b/c/1", "young/1")
	if !f.there("media/a/b/c") || !f.there("media/young") {
		t.Error("a folder went that holds a file, or that was just made")
	}
	f.delete("a/b/c/2")
	if f.there("media/a") {
		t.Error("folders that hold nothing are there still")
	}
	f.plant("media/a/again/1", "1")
	f.aged("media/a")
	f.aged("media/a/again")
	f.plant("media/a/again/2", "2") // the application is at it
	f.delete("a/again/1", "a/again/2")
	if !f.there("media/a/again") {
		t.Error("a folder went that the application has just written to")
	}
	f.aged("media")
	f.plant("other/x", "x")
	f.delete("keep")
	if !f.there("media") {
		t.Error("the folder of the prefix went")
	}
}

// A disk that is not mounted is not an empty one.
func TestNotMounted(t *testing.T) {
	for name, unmount := range map[string]func(f *tree) error{
		"empty":     func(f *tree) error { return os.Remove(filepath.Join(f.root, "media/keep")) },
		"no folder": func(f *tree) error { return os.RemoveAll(filepath.Join(f.root, "media")) },
		"another root": func(f *tree) error {
			return errors.Join(os.Rename(f.root, f.root+".old"), os.MkdirAll(filepath.Join(f.root, "media/keep"), 0o755))
		},
		"no root": func(f *tree) error { return os.Rename(f.root, f.root+".old") },
	} {
		t.Run(name, func(t *testing.T) {
			f := newTree(t)
			if err := unmount(f); err != nil {
				t.Fatal(err)
			}
			_, stat := f.Stat(t.Context(), "x")
			_, del := f.Delete(t.Context(), []string{"x"})
			list := f.List(t.Context(), "", "", func(blob.Info) error { return nil })
			for what, err := range map[string]error{"stat": stat, "delete": del, "list": list, "probe": f.Probe(t.Context()), "put": f.Put(t.Context(), "x", strings.NewReader("x"), 1)} {
				if !errors.Is(err, blob.ErrMisplaced) || errors.Is(err, blob.ErrNotExist) || !strings.Contains(err.Error(), "correct the path or the prefix") {
					t.Errorf("%s: %v, want that it is not in its place", what, err)
				}
			}
		})
	}
}

// A folder whose name begins with a dot is listed only below a prefix that leads into it.
func TestOwnFolder(t *testing.T) {
	f := newTree(t)
	f.plant("media/.lethe/epoch/1", "")
	f.plant("media/.lethe/.hidden", "")
	for prefix, want := range map[string]string{"": "keep", ".": "", ".lethe": "", ".lethe/": ".lethe/epoch/1", ".lethe/epoch/": ".lethe/epoch/1", ".lethe/probe/": ""} {
		if keys := strings.Join(f.keys(prefix, ""), " "); keys != want {
			t.Errorf("%q lists %q, want %q", prefix, keys, want)
		}
	}
}
