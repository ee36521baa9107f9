package fsblob_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"syscall"
	"testing"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/fsblob"
	"github.com/lethe-storage/lethe/blob/fsblob/strictfs"
)

// variants are the ways in which a Delete flushes.
var variants = map[string]fsblob.Options{
	"flush per folder":             {SyncAllFrom: -1, Workers: 1},
	"flush per folder, concurrent": {SyncAllFrom: -1, Workers: 4},
	"one flush":                    {SyncAllFrom: 1, Workers: 1},
	"one flush, concurrent":        {SyncAllFrom: 1, Workers: 4},
	"by number of folders":         {SyncAllFrom: 3},
}

// A crash at every file operation: acknowledged puts survive whole, acknowledged
// deletions stay deletions, and nothing half-written is ever seen.
func TestCrashAtEveryOperation(t *testing.T) {
	for name, opt := range variants {
		t.Run(name, func(t *testing.T) {
			tr := newTrial(t, opt)
			tr.fs.SetHooks(strictfs.Hooks{Before: func(op strictfs.Op) error {
				tr.crash(op.Kind + " " + op.Path)
				return nil
			}})
			tr.script()
			tr.crash("the end")
			tr.report(t)
			if tr.crashes < 500 {
				t.Errorf("only %d crashes", tr.crashes)
			}
		})
	}
}

// What Stat returns while a put or a delete is in flight survives a crash as well.
func TestStatProvesAcrossACrash(t *testing.T) {
	for _, variant := range []string{"flush per folder", "one flush"} {
		t.Run(variant, func(t *testing.T) {
			tr := newTrial(t, variants[variant])
			looking := false
			seen := map[bool]int{}
			tr.fs.SetHooks(strictfs.Hooks{Before: func(op strictfs.Op) error {
				if looking {
					return nil
				}
				looking = true
				defer func() { looking = false }()
				want := maps.Clone(tr.want)
				for key, a := range want {
					if !a.present || !a.absent {
						continue
					}
					_, err := tr.store.Stat(context.Background(), key)
					if err != nil && !errors.Is(err, blob.ErrNotExist) {
						tr.violate("stat %s: %v", key, err)
					}
					want[key] = allowed{data: a.data, present: err == nil, absent: err != nil}
					seen[err == nil]++
				}
				tr.crashWanting(op.Kind+" "+op.Path, want)
				return nil
			}})
			tr.script()
			tr.report(t)
			if seen[true] < 10 || seen[false] < 10 {
				t.Errorf("in doubt and then seen: %v", seen)
			}
		})
	}
}

// The same trials find a flush that is left out: they can fail.
func TestCrashTrialsFindMissingFlushes(t *testing.T) {
	for _, test := range []struct {
		variant, kind string
		path          func(string) bool
	}{
		{"flush per folder", "sync", nil},
		{"flush per folder", "syncdir", func(p string) bool { return p == "s/aa" }},
		{"flush per folder", "syncdir", func(p string) bool { return p == "s" }},
		{"flush per folder", "syncdir", func(p string) bool { return p == "" }},
		{"one flush", "syncall", nil},
	} {
		tr := newTrial(t, variants[test.variant])
		tr.fs.SetHooks(strictfs.Hooks{Before: func(op strictfs.Op) error {
			tr.crash(op.Kind + " " + op.Path)
			if op.Kind == test.kind && (test.path == nil || test.path(op.Path)) {
				return strictfs.ErrLie
			}
			return nil
		}})
		tr.script()
		tr.crash("the end")
		if len(tr.violations) == 0 {
			t.Errorf("%s without %s: no violation found", test.variant, test.kind)
		}
	}
	tr := newTrial(t, fsblob.Options{NoSync: true})
	tr.script()
	if tr.crash("the end"); len(tr.violations) == 0 {
		t.Error("without any flush: no violation found")
	}
}

// An error at every file operation, before or after its effect: the results are
// true about the outcome, then and after a crash.
func TestErrorAtEveryOperation(t *testing.T) {
	for _, test := range []struct {
		errno syscall.Errno
		after bool
	}{
		{syscall.EIO, false}, {syscall.EIO, true}, {syscall.ENOSPC, false},
		{syscall.EROFS, false}, {syscall.EACCES, false}, {syscall.ENOENT, false},
	} {
		for _, variant := range []string{"flush per folder", "one flush"} {
			t.Run(fmt.Sprintf("%v after=%v %s", test.errno, test.after, variant), func(t *testing.T) {
				n := 0
				for at := 1; errorAt(t, variant, at, test.errno, test.after); at++ {
					n = at
				}
				if n < 80 {
					t.Errorf("only %d operations", n)
				}
			})
		}
	}
}

// errorAt runs the script with an error at one operation; false if there are not
// so many.
func errorAt(t *testing.T, variant string, at int, errno syscall.Errno, after bool) bool {
	tr := newTrial(t, variants[variant])
	n, where := 0, ""
	hook := func(op strictfs.Op) error {
		if n++; n != at || errno == syscall.ENOENT && op.Kind != "move" {
			return nil
		}
		where = op.Kind + " " + op.Path
		return &fsError{errno}
	}
	if after {
		tr.fs.SetHooks(strictfs.Hooks{After: hook})
	} else {
		tr.fs.SetHooks(strictfs.Hooks{Before: hook})
	}
	for _, err := range tr.script() {
		if errors.Is(err, syscall.EROFS) && !errors.Is(err, blob.ErrDown) {
			tr.violate("%v is not ErrDown", err)
		}
		if errors.Is(err, syscall.ENOSPC) && !errors.Is(err, blob.ErrFull) {
			tr.violate("%v is not ErrFull", err)
		}
	}
	tr.fs.SetHooks(strictfs.Hooks{})
	tr.crash("the end, error " + errno.Error() + " at " + where)
	for _, wrong := range inspect(tr.fs, tr.want, 1<<20) {
		tr.violate("error at %s: %s", where, wrong)
	}
	tr.report(t)
	return n >= at
}

// fsError is an error as the operating system's packages wrap it.
type fsError struct{ syscall.Errno }

func (e *fsError) Unwrap() error { return e.Errno }

// A full disk, a read-only one, and one bad folder are distinguished.
func TestCauses(t *testing.T) {
	for _, test := range []struct {
		name  string
		fails func(strictfs.Op) bool
		errno syscall.Errno
		put   error
		del   error
	}{
		{"full", func(op strictfs.Op) bool { return op.Kind == "write" }, syscall.ENOSPC, blob.ErrFull, nil},
		{"quota", func(op strictfs.Op) bool { return op.Kind == "create" }, syscall.EDQUOT, blob.ErrFull, nil},
		{"full at the flush", func(op strictfs.Op) bool { return op.Kind == "sync" }, syscall.ENOSPC, blob.ErrFull, nil},
		{"read-only", changes, syscall.EROFS, blob.ErrDown, blob.ErrDown},
		{"no permission", func(op strictfs.Op) bool { return op.Kind == "create" }, syscall.EACCES, blob.ErrDown, nil},
		{"broken", func(strictfs.Op) bool { return true }, syscall.EIO, blob.ErrDown, blob.ErrDown},
		{"bad folder", func(op strictfs.Op) bool { return strings.HasPrefix(op.Path, "s/aa") }, syscall.EIO, syscall.EIO, syscall.EIO},
	} {
		t.Run(test.name, func(t *testing.T) {
			tr := newTrial(t, fsblob.Options{})
			if err := errors.Join(tr.put("s/aa/1", "old"), tr.put("s/bb/2", "old")); err != nil {
				t.Fatal(err)
			}
			tr.fs.SetHooks(strictfs.Hooks{Before: func(op strictfs.Op) error {
				if test.fails(op) {
					return test.errno
				}
				return nil
			}})
			if err := tr.put("s/aa/3", "new"); !errors.Is(err, test.put) || !errors.Is(err, test.errno) || blob.Unknown(err) {
				t.Errorf("put: %v; want %v, certain", err, test.put)
			}
			results, err := tr.store.Delete(t.Context(), []string{"s/aa/1"})
			if !errors.Is(results[0].Err, test.del) || errors.Is(err, blob.ErrDown) != (test.del == blob.ErrDown) {
				t.Errorf("delete: %v, %v; want %v", results, err, test.del)
			}
			if test.del == syscall.EIO && errors.Is(results[0].Err, blob.ErrDown) {
				t.Errorf("one bad folder is an outage: %v", results)
			}
		})
	}
}

func changes(op strictfs.Op) bool {
	return strings.Contains("mkdir move create remove write", op.Kind)
}

// The body's own errors prove nothing about this disk.
func TestErrorOfTheBodyIsNotTheDisks(t *testing.T) {
	tr := newTrial(t, fsblob.Options{})
	for _, errno := range []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EROFS} {
		err := tr.store.Put(t.Context(), "s/aa/1", errReader{errno}, blob.UnknownSize)
		if !errors.Is(err, errno) || !errors.Is(err, blob.ErrNotDone) || errors.Is(err, blob.ErrDown) || errors.Is(err, blob.ErrFull) {
			t.Errorf("a body that fails with %v: %v", errno, err)
		}
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }
