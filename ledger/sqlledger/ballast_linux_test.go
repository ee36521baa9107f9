package sqlledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// disk mounts a file system of that many bytes. Only root can.
func disk(t *testing.T, bytes string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+bytes); err != nil {
		t.Skipf("mount: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// stuff fills a disk to the last byte.
func stuff(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "stuff"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.Copy(f, zeros{}); !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestForgettingNeedsNoRoom: on a disk without a free byte all objects can be deleted, and a
// process can start and end.
func TestForgettingNeedsNoRoom(t *testing.T) {
	dir := disk(t, "80m")
	path := filepath.Join(dir, "ledger.db")
	o := ledger.Options{Clock: newTestClock(), ReadGrace: 1}
	db := openTest(t, path, o, Ballast(4*mib))
	setUp(t, db)
	l := &fixture{DB: db, t: t, ctx: t.Context(), clock: newTestClock()}
	var keys []ledger.DeleteItem
	for i := range 2000 {
		key := lethe.ID(string(l.id()) + string(rune('a'+i%26)))
		l.putTTL(string(key), hexSum(string(key)), 0)
		keys = append(keys, ledger.DeleteItem{Key: string(key)})
	}
	stuff(t, dir)
	l.fillTheLog()
	for len(keys) > 0 {
		_, err := db.Delete(context.Background(), ledger.Deletion{Op: l.id(), Bucket: "b", Items: keys[:100]})
		l.ok(err)
		keys = keys[100:]
		if len(keys) == 1000 {
			l.ok(db.Close())
			db = openTest(t, path, o, Ballast(4*mib))
			l.DB = db
		}
	}
	l.ok(os.Remove(filepath.Join(dir, "stuff")))
	for ballastOf(t, path) != 4*mib { // the writer looks once a second
		l.ok(l.HoldBackend(l.ctx, "disk", ""))
	}
	l.begin(1)
	sound(t, db)
}

// TestForgettingOnAFullDiskGoesOn: on a disk that is full deletes go on as long as there is
// something to delete, whether the log was short or had much that was not yet in the file.
func TestForgettingOnAFullDiskGoesOn(t *testing.T) {
	for name, c := range map[string]struct {
		objects, size int
		reopen        bool
	}{"short log": {1500, 1, true}, "long log": {450, 64 << 10, false}} {
		t.Run(name, func(t *testing.T) {
			dir := disk(t, "120m")
			path := filepath.Join(dir, "ledger.db")
			l := &fixture{DB: openTest(t, path, ledger.Options{}), t: t, ctx: t.Context(), clock: newTestClock()}
			setUp(t, l.DB)
			for i := range c.objects {
				_, err := l.Commit(l.ctx, l.inlineCommit(fmt.Sprint(i), fmt.Sprintf("%0*d", c.size, i)))
				l.ok(err)
			}
			if c.reopen {
				l.ok(l.Close())
				l.DB = openTest(t, path, ledger.Options{})
			}
			stuff(t, dir)
			l.fillTheLog()
			for i := range c.objects {
				l.remove(fmt.Sprint(i))
			}
		})
	}
}

// fillTheLog writes until the write-ahead log is full.
func (l *fixture) fillTheLog() {
	l.t.Helper()
	for range 10_000 {
		if _, err := l.Begin(l.ctx, ledger.Intent{ID: l.id(), Backend: "disk", Size: 1}); err != nil {
			return
		}
	}
	l.t.Fatal("the disk takes all")
}
