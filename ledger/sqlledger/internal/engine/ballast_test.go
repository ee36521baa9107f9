package engine

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// ballastOf returns the size of a ledger's ballast, -1 if there is none.
func ballastOf(t *testing.T, e *Engine) int64 {
	t.Helper()
	info, err := os.Stat(e.File.path + ".ballast")
	if errors.Is(err, os.ErrNotExist) {
		return -1
	}
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// on runs fn on the writer, between transactions of others.
func on(t *testing.T, e *Engine, fn func()) {
	t.Helper()
	if err := write(context.Background(), e, func(*Tx) error { fn(); return nil }); err != nil {
		t.Fatal(err)
	}
}

// room makes the writer see so many free bytes, and check again.
func room(t *testing.T, e *Engine, bytes int64) {
	t.Helper()
	on(t, e, func() {
		e.File.ballast.free, e.File.ballast.next = func(string) (int64, error) { return bytes, nil }, 0
	})
	on(t, e, func() {})
}

// tooMuch is a write for which there is no room.
func tooMuch(t *testing.T, e *Engine) {
	t.Helper()
	err := write(context.Background(), e, func(t *Tx) error {
		if err := t.Row("PRAGMA max_page_count = 1").Scan(new(int)); err != nil {
			return err
		}
		_, err := t.Exec(addNote, "big", strings.Repeat("x", 1<<20))
		return err
	})
	if !errors.Is(err, lethe.ErrUnavailable) {
		t.Fatalf("error %v, want that the disk is full", err)
	}
	on(t, e, func() {
		if err := e.File.w.s.Run("PRAGMA max_page_count = 1000000"); err != nil {
			t.Error(err)
		}
	})
}

const mib = 1 << 20

// TestBallastOnAFullDisk: on a full disk the ballast is given up, and writes that need space
// are refused. All is as before once there is space.
func TestBallastOnAFullDisk(t *testing.T) {
	e := openTest(t, filePath(t), Options{Ballast: mib})
	on(t, e, func() {})
	if got := ballastOf(t, e); got != mib {
		t.Fatalf("the ballast has %d bytes", got)
	}
	room(t, e, 2*mib-1)
	tooMuch(t, e)
	if got := ballastOf(t, e); got != 0 {
		t.Errorf("the ballast has %d bytes on a full disk", got)
	}
	if !e.Stats().Full {
		t.Error("nobody is told")
	}
	grow := func(t *Tx) error { return t.NeedsRoom() }
	if err := write(t.Context(), e, grow); !errors.Is(err, lethe.ErrNoRoom) {
		t.Errorf("a write that needs space: %v", err)
	}
	room(t, e, 2*mib)
	if got := ballastOf(t, e); got != mib || e.Stats().Full {
		t.Errorf("the ballast has %d bytes when there is room again", got)
	}
	if err := write(t.Context(), e, grow); err != nil {
		t.Error(err)
	}
}

// TestBallastOfTheProcessBefore: a process that finds the ballast given up refuses writes
// that need space, too. One that finds none because there was never space does not.
func TestBallastOfTheProcessBefore(t *testing.T) {
	path := filePath(t)
	for _, given := range []bool{true, false} {
		b := newBallast(path, Options{Ballast: mib, FreeBytes: func(string) (int64, error) { return mib, nil }})
		if given {
			if err := os.WriteFile(b.path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if b.tend(); b.out.Load() != given || b.laid {
			t.Errorf("given up %v: refuses %v, laid %v", given, b.out.Load(), b.laid)
		}
		if err := os.RemoveAll(b.path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFullDiskAtTheCommitOfOne: a member that runs by itself, and finds the disk full at its COMMIT,
// runs once more in the room of the ballast, and leaves no transaction open for the next.
func TestFullDiskAtTheCommitOfOne(t *testing.T) {
	e := openTest(t, filePath(t), Options{})
	ctx := context.Background()
	pages := func(t *Tx, most string) error { return t.Row("PRAGMA max_page_count = " + most).Scan(new(int)) }
	var full error
	_ = write(ctx, e, func(t *Tx) error {
		if err := pages(t, "1"); err != nil {
			return err
		}
		_, full = t.s.Execute(ctx, addNote, []any{"z", strings.Repeat("x", 1<<20)})
		return full
	})
	e.File.ballast.next = 0
	if err := errors.Join(write(ctx, e, func(t *Tx) error { return pages(t, "1000000") }), write(ctx, e, note("first"))); err != nil || !isFull(full) || e.File.ballast.out.Load() {
		t.Fatal(err, full)
	}
	w, n := e.File.w, 0
	commit := w.commit
	w.commit = func(s *sqldb.Session) error {
		if n++; n == 2 { // of c
			return full
		}
		return commit(s)
	}
	ends := func(x *Tx) error {
		err := x.s.Run("ROLLBACK")
		x.Failed(context.Canceled)
		return err
	}
	errs := together(t, e, note("a"), ends, note("c"), note("d"))
	if errs[0] != nil || !errors.Is(errs[1], context.Canceled) || errs[2] != nil || errs[3] != nil {
		t.Error(errs)
	}
	wantNotes(t, e, "a", "c", "d")
}
