package strictfs_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/lethe-storage/lethe/blob/fsblob"
	"github.com/lethe-storage/lethe/blob/fsblob/strictfs"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// flush says what write flushes.
type flush struct{ file, dir bool }

var both = flush{true, true}

// write makes a file and opens what it lies in.
func write(t *testing.T, fs *strictfs.FS, name, data string, do flush) fsblob.Dir {
	t.Helper()
	dir, err := fs.OpenDir("")
	must(t, err)
	f, err := dir.Create(name)
	must(t, err)
	_, err = f.Write([]byte(data))
	must(t, err)
	if do.file {
		must(t, f.Sync())
	}
	if do.dir {
		must(t, dir.Sync())
	}
	return dir
}

// content returns the bytes under a name, "-" if there is no such name.
func content(t *testing.T, fs *strictfs.FS, name string) string {
	t.Helper()
	dir, err := fs.OpenDir("")
	must(t, err)
	f, err := dir.Open(name)
	if errors.Is(err, syscall.ENOENT) {
		return "-"
	}
	must(t, err)
	data, err := io.ReadAll(f)
	must(t, err)
	return string(data)
}

func crash(fs *strictfs.FS, percent int) *strictfs.FS {
	return fs.CrashClone(percent, rand.New(rand.NewPCG(1, 2)))
}

func TestOnlyWhatWasFlushedSurvives(t *testing.T) {
	for _, test := range []struct {
		do        flush
		none, all string
	}{
		{flush{}, "-", "data"}, {flush{file: true}, "-", "data"}, {flush{dir: true}, "", "data"}, {both, "data", "data"},
	} {
		fs := strictfs.New(nil)
		write(t, fs, "a", "data", test.do)
		if got := content(t, crash(fs, 0), "a"); got != test.none {
			t.Errorf("%+v: nothing kept: %q", test, got)
		}
		if got := content(t, crash(fs, 100), "a"); got != test.all {
			t.Errorf("%+v: all kept: %q", test, got)
		}
		must(t, fs.SyncAll())
		if got := content(t, crash(fs, 0), "a"); got != "data" {
			t.Errorf("%+v: all flushed: %q", test, got)
		}
	}
}

func TestRemovalAndMoveNeedTheirFlush(t *testing.T) {
	fs := strictfs.New(nil)
	dir := write(t, fs, "a", "data", both)
	must(t, dir.Remove("a"))
	if got := content(t, crash(fs, 0), "a"); got != "data" {
		t.Errorf("removed, not flushed: %q", got)
	}
	must(t, dir.Sync())
	if got := content(t, crash(fs, 0), "a"); got != "-" {
		t.Errorf("removed and flushed: %q", got)
	}
	dir = write(t, fs, "b", "data", both)
	write(t, fs, "c", "other", both)
	if err := fs.Move(dir, "b", dir, "c"); !errors.Is(err, syscall.EEXIST) {
		t.Errorf("a move over a name: %v", err)
	}
	must(t, fs.Move(dir, "b", dir, "d"))
	if c := crash(fs, 0); content(t, c, "b") != "data" || content(t, c, "d") != "-" {
		t.Error("a move survived without a flush")
	}
}

// Half of the sectors survive, and the same half for the same seed.
func TestSectorsAreTorn(t *testing.T) {
	fs := strictfs.New(nil)
	write(t, fs, "a", strings.Repeat("x", 512*20), flush{dir: true})
	got := content(t, crash(fs, 50), "a")
	kept := strings.Count(got, "x")
	if kept == 0 || kept == 512*20 || kept%512 != 0 {
		t.Errorf("%d bytes of %d survived", kept, 512*20)
	}
	if content(t, crash(fs, 50), "a") != got {
		t.Error("the same seed kept something else")
	}
}

func TestHooks(t *testing.T) {
	fs := strictfs.New(nil)
	var trace []string
	fs.SetHooks(strictfs.Hooks{
		Before: func(op strictfs.Op) error {
			trace = append(trace, op.Kind+" "+op.Path)
			switch op.Path {
			case "before":
				return syscall.EIO
			case "lie":
				return strictfs.ErrLie
			}
			return nil
		},
		After: func(op strictfs.Op) error {
			if op.Path == "after" {
				return syscall.EIO
			}
			return nil
		},
	})
	for _, test := range []struct {
		name string
		err  error
		made bool
	}{{"before", syscall.EIO, false}, {"after", syscall.EIO, true}, {"lie", nil, false}, {"fine", nil, true}} {
		if err := fs.Mkdir(test.name); !errors.Is(err, test.err) {
			t.Errorf("mkdir %s: %v", test.name, err)
		}
	}
	if want := []string{"mkdir before", "mkdir after", "mkdir lie", "mkdir fine"}; !slices.Equal(trace, want) {
		t.Errorf("trace %q", trace)
	}
	fs.SetHooks(strictfs.Hooks{})
	dir, err := fs.OpenDir("")
	must(t, err)
	if names, err := dir.Names(); err != nil || !slices.Equal(names, []string{"after", "fine"}) {
		t.Errorf("folders %q, %v", names, err)
	}
}
