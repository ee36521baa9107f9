package spool_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/spool"
)

func entry(n int) spool.Entry {
	return spool.Entry{At: lethe.Time(n), Stage: "commit", Reason: "unknown", Backend: "main", Blob: lethe.ID(fmt.Sprint("b", n)), Size: int64(n)}
}

func open(t *testing.T, o spool.Options) *spool.Spool {
	t.Helper()
	s := spool.Open(o)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func list(t *testing.T, s *spool.Spool) []spool.Entry {
	t.Helper()
	l, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// none knows nothing of any entry.
func none(context.Context, spool.Entry) (string, error) { return "", nil }

func TestReplay(t *testing.T) {
	dir := t.TempDir()
	s := spool.Open(spool.Options{Dir: dir})
	for n := range 10 {
		s.Add(entry(n))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, spool.Options{Dir: dir})
	s.Add(entry(10))
	r, err := s.Replay(t.Context(), func(_ context.Context, e spool.Entry) (string, error) {
		if e.Size%2 == 0 {
			return "live", nil
		}
		return "", nil
	})
	if err != nil || r.Resolved["live"] != 6 || r.Open != 5 {
		t.Fatalf("%+v, %v", r, err)
	}
	left := list(t, s)
	if len(left) != 5 || left[0].Tries != 1 {
		t.Fatalf("left are %+v", left)
	}
	broken := errors.New("the ledger does not answer")
	if _, err = s.Replay(t.Context(), func(context.Context, spool.Entry) (string, error) { return "", broken }); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if left = list(t, s); len(left) != 5 {
		t.Fatalf("after a replay that failed %d are left", len(left))
	}
}

// TestDamage: what was torn or damaged is counted and passed over, the rest is read.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	s := spool.Open(spool.Options{Dir: dir})
	for n := range 4 {
		s.Add(entry(n))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.spool"))
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	text, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/4/2] ^= 1 // in the first line
	long := strings.Repeat("x", 100<<10) + "\n"
	if err := os.WriteFile(paths[0], append([]byte(long), text[:len(text)-3]...), 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, spool.Options{Dir: dir})
	r, err := s.Replay(t.Context(), none)
	if err != nil || r.Open != 2 || r.Corrupt != 2 || r.Torn != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if st := s.Stats(); st.Corrupt != 2 || st.Torn != 1 {
		t.Errorf("%+v", st)
	}
	if r, err = s.Replay(t.Context(), none); err != nil || r.Open != 2 || r.Corrupt != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
}

// TestBound: the oldest go when the spool is as large as it may be.
func TestBound(t *testing.T) {
	dir := t.TempDir()
	s := open(t, spool.Options{Dir: dir, MaxFile: 2 << 10, MaxTotal: 8 << 10})
	const all = 400
	for n := range all {
		s.Add(entry(n))
		s.Sync()
	}
	size := int64(0)
	files, err := os.ReadDir(dir)
	for _, f := range files {
		info, ierr := f.Info()
		err = errors.Join(err, ierr)
		size += info.Size()
	}
	left, st := list(t, s), s.Stats()
	if err != nil || size > 8<<10 || len(left) < 10 || st.Written != all || st.Dropped != int64(all-len(left)) {
		t.Fatalf("%d bytes in %d files, %d entries, %+v, %v", size, len(files), len(left), st, err)
	}
	newest := false
	for _, e := range left {
		newest = newest || e.Size == all-1
	}
	if !newest {
		t.Error("the newest entry is gone")
	}
}

// TestNoDisk: where nothing can be written entries are dropped and counted, and
// nobody waits.
func TestNoDisk(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	troubles := make(chan error, 100)
	s := open(t, spool.Options{Dir: filepath.Join(file, "spool"), Trouble: func(err error) { troubles <- err }})
	s.Add(entry(1))
	s.Sync()
	if st := s.Stats(); st.Dropped != 1 || st.Written != 0 || len(troubles) == 0 {
		t.Fatalf("%+v", st)
	}
}

// TestKilled: what a killed process had flushed is there.
func TestKilled(t *testing.T) {
	const env = "LETHETEST_SPOOL"
	if dir := os.Getenv(env); dir != "" {
		s := spool.Open(spool.Options{Dir: dir})
		for n := range 100 {
			s.Add(entry(n))
		}
		s.Sync()
		p, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = p.Kill()
		}
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), env+"="+dir)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("%v %s", err, out)
	}
	s := open(t, spool.Options{Dir: dir})
	if left := list(t, s); len(left) != 100 {
		t.Fatalf("%d of 100 are left", len(left))
	}
}
