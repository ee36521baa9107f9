package fsblob_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/fsblob"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, s blob.Store, key, data string) {
	t.Helper()
	must(t, s.Put(t.Context(), key, strings.NewReader(data), int64(len(data))))
}

func keys(t *testing.T, s blob.Store) []string {
	t.Helper()
	var keys []string
	must(t, s.List(t.Context(), "", "", func(info blob.Info) error {
		keys = append(keys, info.Key)
		return nil
	}))
	return keys
}

// No name and no symbolic link leads out of the folder: neither as a folder on
// the way nor as the file itself.
func TestNothingLeadsOutOfTheFolder(t *testing.T) {
	s, root := openDir(t, fsblob.Options{})
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	must(t, os.WriteFile(secret, []byte("secret"), 0o600))
	must(t, os.Symlink(outside, filepath.Join(root, "out")))
	must(t, os.Symlink("../"+filepath.Base(outside), filepath.Join(root, "up")))
	must(t, os.Mkdir(filepath.Join(root, "in"), 0o700))
	must(t, os.Symlink(secret, filepath.Join(root, "in", "secret")))
	for _, key := range []string{"out/secret", "up/secret", "in/secret"} {
		if data, err := readAll(s, key); err == nil || errors.Is(err, blob.ErrNotExist) {
			t.Errorf("get %s: %q, %v; want an error that proves nothing", key, data, err)
		}
		if _, err := s.Stat(t.Context(), key); err == nil || errors.Is(err, blob.ErrNotExist) {
			t.Errorf("stat %s: %v; want an error that proves nothing", key, err)
		}
		if err := s.Put(t.Context(), key, strings.NewReader("x"), 1); err == nil || blob.Unknown(err) {
			t.Errorf("put %s: %v; want a refusal", key, err)
		}
		if err := s.Put(t.Context(), key+"x", strings.NewReader("x"), 1); err == nil && !strings.HasPrefix(key, "in/") {
			t.Errorf("put %sx led out", key)
		}
		_, _ = s.Delete(t.Context(), []string{key})
	}
	if data, err := os.ReadFile(secret); err != nil || string(data) != "secret" {
		t.Errorf("the file outside is %q, %v", data, err)
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Errorf("outside are %v, %v", entries, err)
	}
	if got := keys(t, s); !slices.Equal(got, []string{"in/secretx", "out", "up"}) {
		t.Errorf("listed %q: links are told, not followed", got)
	}
}

// Foreign names are listed as they are, and cannot be deleted by a key.
func TestForeignNames(t *testing.T) {
	s, root := openDir(t, fsblob.Options{})
	put(t, s, "a/b", "1")
	names := []string{".hidden", "UPPER", "a-b", "a/.tmp/x", "a/b c", "lost+found2", "nl\n", "not-utf8-\xff", "ä"}
	for _, name := range names {
		path := filepath.Join(root, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte("foreign"), 0o600))
	}
	must(t, os.MkdirAll(filepath.Join(root, "lost+found"), 0o000))
	must(t, os.Mkdir(filepath.Join(root, "empty"), 0o700))
	must(t, unix.Mkfifo(filepath.Join(root, "pipe"), 0o600))
	want := append([]string{"a/b", "pipe"}, names...)
	slices.Sort(want)
	if got := keys(t, s); !slices.Equal(got, want) {
		t.Errorf("listed %q; want %q", got, want)
	}
	results, err := s.Delete(t.Context(), names)
	must(t, err)
	for _, r := range results {
		if !errors.Is(r.Err, blob.ErrInvalidKey) {
			t.Errorf("delete %q: %v", r.Key, r.Err)
		}
	}
	if _, err := s.Get(t.Context(), "pipe", 0, -1); err == nil || errors.Is(err, blob.ErrNotExist) {
		t.Errorf("get of a pipe: %v", err)
	}
}

// A key that is the folder of others, or lies below another, is refused.
func TestKeyInTheWay(t *testing.T) {
	s, _ := openDir(t, fsblob.Options{})
	put(t, s, "a/b/c", "1")
	for _, key := range []string{"a", "a/b", "a/b/c/d", "a/b/c/d/e"} {
		if err := s.Put(t.Context(), key, strings.NewReader("x"), 1); !errors.Is(err, blob.ErrInvalidKey) || blob.Unknown(err) {
			t.Errorf("put %s: %v; want ErrInvalidKey", key, err)
		}
	}
	if got := keys(t, s); !slices.Equal(got, []string{"a/b/c"}) {
		t.Errorf("listed %q", got)
	}
}

// Other users cannot read what is stored.
func TestPermissions(t *testing.T) {
	s, root := openDir(t, fsblob.Options{})
	put(t, s, "a/b", "1")
	for path, want := range map[string]os.FileMode{"a": 0o700 | os.ModeDir, "a/b": 0o600, ".tmp": 0o700 | os.ModeDir} {
		info, err := os.Stat(filepath.Join(root, path))
		must(t, err)
		if info.Mode() != want {
			t.Errorf("%s has mode %v; want %v", path, info.Mode(), want)
		}
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "new", "deep")
	if _, err := fsblob.Open(fsblob.Options{Root: missing}); !errors.Is(err, blob.ErrDown) {
		t.Errorf("a missing folder: %v; want ErrDown", err)
	}
	s, err := fsblob.Open(fsblob.Options{Root: missing, Create: true})
	must(t, err)
	put(t, s, "a", "1")
	must(t, s.Close())
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	for _, create := range []bool{false, true} {
		if _, err := fsblob.Open(fsblob.Options{Root: file, Create: create}); !errors.Is(err, blob.ErrDown) {
			t.Errorf("a file as the folder: %v; want ErrDown", err)
		}
	}
}

// What a killed process left is swept, unless it is young or in flight.
func TestSweepUnfinished(t *testing.T) {
	s, root := openDir(t, fsblob.Options{})
	if n, _, err := s.SweepUnfinished(t.Context(), lethe.Forever); n != 0 || err != nil {
		t.Errorf("before the first put: %d, %v", n, err)
	}
	put(t, s, "a/b", "1")
	old, young := filepath.Join(root, ".tmp", "dead-1"), filepath.Join(root, ".tmp", "dead-2")
	must(t, os.WriteFile(old, make([]byte, 1000), 0o600))
	must(t, os.WriteFile(young, make([]byte, 10), 0o600))
	limit := lethe.Time(1_000_000_000)
	must(t, os.Chtimes(old, limit.Time(), limit.Add(-1000).Time()))
	must(t, os.Chtimes(young, limit.Time(), limit.Time()))
	if n, bytes, err := s.SweepUnfinished(t.Context(), limit); n != 1 || bytes != 1000 || err != nil {
		t.Errorf("swept %d, %d bytes, %v; want 1, 1000", n, bytes, err)
	}
	if n, bytes, err := s.SweepUnfinished(t.Context(), lethe.Time(math.MaxInt64)); n != 1 || bytes != 10 || err != nil {
		t.Errorf("swept %d, %d bytes, %v; want 1, 10", n, bytes, err)
	}
	if got := keys(t, s); !slices.Equal(got, []string{"a/b"}) {
		t.Errorf("listed %q", got)
	}
}

// A failed put leaves no temporary file, and folders taken away are made again.
func TestFoldersAndTempsHeal(t *testing.T) {
	s, root := openDir(t, fsblob.Options{})
	put(t, s, "s/aa/1", "1")
	_ = s.Put(t.Context(), "s/aa/2", errReader{errors.New("broken")}, 5)
	_ = s.Put(t.Context(), "s/aa/1", strings.NewReader("again"), 5)
	if entries, err := os.ReadDir(filepath.Join(root, ".tmp")); err != nil || len(entries) != 0 {
		t.Errorf("temporary files are left: %v, %v", entries, err)
	}
	must(t, os.RemoveAll(filepath.Join(root, ".tmp")))
	must(t, os.RemoveAll(filepath.Join(root, "s")))
	put(t, s, "s/aa/1", "2")
	if data, err := readAll(s, "s/aa/1"); data != "2" || err != nil {
		t.Errorf("got %q, %v", data, err)
	}
}

// Each kind of flush happens as often as durability requires, and no more.
func TestFlushesAreCounted(t *testing.T) {
	var counts map[string]int
	open := func(from int) *fsblob.Store {
		s, _ := openDir(t, fsblob.Options{SyncAllFrom: from, OnSync: func(what string) { counts[what]++ }, Workers: 1})
		return s
	}
	expect := func(what string, want map[string]int) {
		t.Helper()
		for _, kind := range []string{"file", "folder", "all"} {
			if counts[kind] != want[kind] {
				t.Errorf("%s: %d flushes of %s; want %d", what, counts[kind], kind, want[kind])
			}
		}
		counts = map[string]int{}
	}
	counts = map[string]int{}
	s := open(3)
	expect("open", map[string]int{"all": 1})
	put(t, s, "s/aa/1", "1")
	expect("first put", map[string]int{"file": 1, "folder": 4}) // .tmp, s, s/aa, and the name
	put(t, s, "s/aa/2", "1")
	expect("second put", map[string]int{"file": 1, "folder": 1})
	put(t, s, "s/bb/3", "1")
	expect("put in a new folder", map[string]int{"file": 1, "folder": 2})
	put(t, s, "s/cc/4", "1")
	counts = map[string]int{}
	_, err := s.Delete(t.Context(), []string{"s/aa/1", "s/bb/x", "s/aa/2"})
	must(t, err)
	expect("delete in two folders", map[string]int{"folder": 2})
	_, err = s.Delete(t.Context(), []string{"s/aa/1", "s/bb/3", "s/cc/4"})
	must(t, err)
	expect("delete in three folders", map[string]int{"all": 1})
	_, err = s.Stat(t.Context(), "s/aa/1")
	if !errors.Is(err, blob.ErrNotExist) {
		t.Error(err)
	}
	expect("stat of what is settled", nil)
}
