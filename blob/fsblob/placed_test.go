package fsblob_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/fsblob"
)

// moved is a store whose folder, with one blob, was moved aside, and what lies in
// its place now: nothing, or an empty folder.
func moved(t *testing.T, empty bool) (s *fsblob.Store, root string) {
	s, root = openDir(t, fsblob.Options{})
	if err := s.Put(t.Context(), "s/aa/x", strings.NewReader("bytes"), 5); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(root, root+".aside"); err != nil {
		t.Fatal(err)
	}
	if empty {
		if err := os.Mkdir(root, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return s, root
}

// With another folder in its place, or none, a store is down: it neither writes
// there nor takes what it does not find for gone.
func TestAnotherFolderInItsPlace(t *testing.T) {
	for name, empty := range map[string]bool{"empty": true, "none": false} {
		t.Run(name, func(t *testing.T) {
			s, root := moved(t, empty)
			_, get := s.Get(t.Context(), "s/aa/x", 0, -1)
			_, absent := s.Get(t.Context(), "s/aa/y", 0, -1)
			_, stat := s.Stat(t.Context(), "s/aa/y")
			results, del := s.Delete(t.Context(), []string{"s/aa/x"})
			list := s.List(t.Context(), "", "", func(blob.Info) error { return nil })
			put := s.Put(t.Context(), "s/aa/z", strings.NewReader("z"), 1)
			for call, err := range map[string]error{
				"get": get, "get absent": absent, "stat": stat, "delete": del, "its key": results[0].Err, "list": list,
				"put": put, "in place": s.InPlace(),
			} {
				if !errors.Is(err, blob.ErrDown) || !errors.Is(err, blob.ErrMisplaced) || errors.Is(err, blob.ErrNotExist) || strings.Count(err.Error(), blob.ErrDown.Error()) != 1 {
					t.Errorf("%s: %v", call, err)
				}
			}
			if blob.Unknown(put) || blob.Unknown(results[0].Err) {
				t.Errorf("nothing was done, and that is certain: %v, %v", put, results[0].Err)
			}
			if left, _ := filepath.Glob(filepath.Join(root, "*")); len(left) > 0 {
				t.Errorf("it wrote %v", left)
			}
		})
	}
}

// Once the folder is back the store continues by itself. Another folder in its
// place is used only after Reopen.
func TestReopen(t *testing.T) {
	s, root := moved(t, true)
	if err := s.Reopen(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stat(t.Context(), "s/aa/x"); !errors.Is(err, blob.ErrNotExist) || s.InPlace() != nil {
		t.Errorf("in the new folder: %v, %v", err, s.InPlace())
	}
	for _, folder := range []string{".tmp", ""} {
		if err := os.Remove(filepath.Join(root, folder)); err != nil && folder == "" {
			t.Fatal(err)
		}
	}
	if err := s.Reopen(); !errors.Is(err, blob.ErrDown) {
		t.Errorf("nothing to open: %v", err)
	}
	if err := os.Rename(root+".aside", root); err != nil {
		t.Fatal(err)
	}
	if err := s.InPlace(); !errors.Is(err, blob.ErrMisplaced) {
		t.Errorf("before it is opened again: %v", err)
	}
	if err := s.Reopen(); err != nil {
		t.Fatal(err)
	}
	if got := readKey(t, s, "s/aa/x"); got != "bytes" {
		t.Errorf("read %q", got)
	}
}

func readKey(t *testing.T, s *fsblob.Store, key string) string {
	t.Helper()
	data, err := readAll(s, key)
	if err != nil {
		t.Error(err)
	}
	return string(data)
}
