package engine

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
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
