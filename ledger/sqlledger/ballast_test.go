package sqlledger

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// ballastOf returns the size of a ledger's ballast, -1 if there is none.
func ballastOf(t *testing.T, db *DB) int64 {
	t.Helper()
	info, err := os.Stat(db.path + ".ballast")
	if errors.Is(err, os.ErrNotExist) {
		return -1
	}
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// on runs fn on the writer, between transactions of others.
func on(t *testing.T, db *DB, fn func()) {
	t.Helper()
	if err := db.write(context.Background(), "test", func(*tx) error { fn(); return nil }); err != nil {
		t.Fatal(err)
	}
}

// room makes the writer see so many free bytes, and check again.
func room(t *testing.T, db *DB, bytes int64) {
	t.Helper()
	on(t, db, func() {
		db.ballast.free, db.ballast.next = func(string) (int64, error) { return bytes, nil }, 0
	})
	on(t, db, func() {})
}

// tooMuch is a write for which there is no room.
func tooMuch(t *testing.T, db *DB) {
	t.Helper()
	err := db.write(context.Background(), "big", func(t *tx) error {
		if err := t.row("PRAGMA max_page_count = 1").Scan(new(int)); err != nil {
			return err
		}
		_, err := t.record("big", strings.Repeat("x", 1<<20), "")
		return err
	})
	if !errors.Is(err, lethe.ErrUnavailable) {
		t.Fatalf("error %v, want that the disk is full", err)
	}
	on(t, db, func() {
		if err := db.w.s.Run("PRAGMA max_page_count = 1000000"); err != nil {
			t.Error(err)
		}
	})
}

const mib = 1 << 20

// TestBallastOnAFullDisk: on a full disk the ballast is given up, deletes work, and writes
// that need space are refused. All is as before once there is space.
func TestBallastOnAFullDisk(t *testing.T) {
	db := openTest(t, filePath(t), ledger.Options{}, Ballast(mib))
	setUp(t, db)
	l := &fixture{DB: db, t: t, ctx: t.Context(), clock: newTestClock()}
	id := l.begin(10)
	if got := ballastOf(t, db); got != mib {
		t.Fatalf("the ballast has %d bytes", got)
	}
	room(t, db, 2*mib-1)
	tooMuch(t, db)
	if got := ballastOf(t, db); got != 0 {
		t.Errorf("the ballast has %d bytes on a full disk", got)
	}
	if !db.Stats().Full {
		t.Error("nobody is told")
	}
	l.refusesGrowth()
	l.ok(db.Abandon(l.ctx, id, true))
	room(t, db, 2*mib)
	if got := ballastOf(t, db); got != mib || db.Stats().Full {
		t.Errorf("the ballast has %d bytes when there is room again", got)
	}
	l.begin(10)
}

// refusesGrowth fails unless writes that need space are refused.
func (l *fixture) refusesGrowth() {
	l.t.Helper()
	_, err := l.Begin(l.ctx, ledger.Intent{ID: l.id(), Backend: "disk", Size: 1})
	l.refused(err, lethe.ErrNoRoom)
	_, err = l.CreateBucket(l.ctx, ledger.Bucket{Name: "more", Owner: "o"})
	l.refused(err, lethe.ErrNoRoom)
	_, err = l.CreateUpload(l.ctx, ledger.Upload{Bucket: "b", Key: "k"})
	l.refused(err, lethe.ErrNoRoom)
	_, err = l.Commit(l.ctx, ledger.Commit{Op: l.id(), Object: ledger.Object{Bucket: "b", Key: "empty"}})
	l.refused(err, lethe.ErrNoRoom)
}

// TestBallastOfTheProcessBefore: a process that finds the ballast given up refuses writes
// that need space, too. One that finds none because there was never space does not.
func TestBallastOfTheProcessBefore(t *testing.T) {
	path := filePath(t)
	for _, given := range []bool{true, false} {
		b := newBallast(path, mib)
		b.free = func(string) (int64, error) { return mib, nil }
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

// TestAdoptLaysNoBallast: preparing a ledger to move to another name leaves no ballast.
func TestAdoptLaysNoBallast(t *testing.T) {
	db := openTest(t, filePath(t), ledger.Options{})
	setUp(t, db)
	copied := filePath(t)
	if err := db.Backup(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	if _, err := Accept(t.Context(), copied, ledger.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(copied + ".ballast"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a ballast: %v", err)
	}
}
