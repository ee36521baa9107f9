package sqlledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/notification"
	"github.com/lethe-storage/lethe/test/servers"
)

// TestBackupWhileServing: the copy is the state of one instant, whatever is
// written meanwhile, and it is all that a restored store needs.
func TestBackupWhileServing(t *testing.T) {
	ctx := context.Background()
	clock := newTestClock()
	db := openTest(t, filePath(t), ledger.Options{Clock: clock})
	setUp(t, db)
	mustPut(t, db, "before", "d")
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := put(db, fmt.Sprint("k", i%50), fmt.Sprint("d", i%7)); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	path := filepath.Join(t.TempDir(), "backup.db")
	if err := db.Backup(ctx, path); err != nil {
		t.Fatal(err)
	}
	close(stop)
	<-done
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info, err)
	}
	if err := db.Backup(ctx, path); !errors.Is(err, os.ErrExist) {
		t.Errorf("overwrote a backup: %v", err)
	}
	copied := openTest(t, path, ledger.Options{Clock: clock})
	sound(t, copied)
	if _, err := copied.Resolve(ctx, "b", "before"); err != nil {
		t.Error(err)
	}
}

// TestAccept: a restored copy is another database of the same store, and deletes nothing
// until a person allows it.
func TestAccept(t *testing.T) {
	l := newLedger(t)
	l.condemnOne("k")
	path := filepath.Join(t.TempDir(), "backup.db")
	l.ok(l.Backup(l.ctx, path))
	was, err := l.Identity(l.ctx)
	l.ok(err)
	is, err := Accept(l.ctx, path, ledger.Options{Clock: l.clock})
	l.ok(err)
	if is.ID != was.ID || is.DB == was.DB || is.DB == "" {
		t.Errorf("was %+v, is %+v", was, is)
	}
	db := openTest(t, path, ledger.Options{Clock: l.clock})
	if s, err := db.Identity(l.ctx); err != nil || s != is {
		t.Errorf("identity %+v, %v", s, err)
	}
	_, err = db.ClaimCondemned(l.ctx, ledger.ClaimRequest{Backend: "disk", Limit: 1})
	l.refused(err, lethe.ErrBackendMismatch)
	l.ok(db.HoldBackend(l.ctx, "disk", ""))
	if c, err := db.ClaimCondemned(l.ctx, ledger.ClaimRequest{Backend: "disk", Limit: 1}); err != nil || len(c.Blobs) != 1 {
		t.Errorf("claimed %+v, %v", c, err)
	}
	if s, err := l.Identity(l.ctx); err != nil || s != was {
		t.Errorf("the original became %+v, %v", s, err)
	}
}

func TestEventsAfterARestore(t *testing.T) {
	eventsAfterARestore(t, func(o ledger.Options) *DB { return openTest(t, Memory, o) })
}

func TestEventsAfterARestoreOnPostgres(t *testing.T) {
	url := servers.Postgres(t)
	eventsAfterARestore(t, func(o ledger.Options) *DB { return openServerAt(t, url, o) })
}

// eventsAfterARestore: events of a restored ledger sort behind those that the original told
// after the backup.
func eventsAfterARestore(t *testing.T, open func(ledger.Options) *DB) {
	clock := newTestClock()
	l := &fixture{DB: open(ledger.Options{Clock: clock}), t: t, ctx: t.Context(), clock: clock}
	setUp(t, l.DB)
	l.ok(l.SetNotifications(l.ctx, ledger.NotificationChange{Bucket: "b", Rules: notification.Rules{
		{ID: "all", Target: "app", Events: []string{"s3:ObjectCreated:*"}},
	}}))
	put := func() int64 {
		l.putTTL("k", "d", 0)
		list, err := l.Events(l.ctx, ledger.EventQuery{Target: "app"})
		l.ok(err)
		return list[len(list)-1].No
	}
	for range 2 { // the second time the clock has not moved
		before := put()
		l.ok(l.write(l.ctx, "accept", func(t *tx) error { return t.anew(Restored) }))
		if after := put(); after <= before || after <= int64(l.now()) {
			t.Errorf("event %d follows %d", after, before)
		}
	}
	if left, err := l.Events(l.ctx, ledger.EventQuery{}); err != nil || len(left) > 0 {
		t.Errorf("%+v, %v", left, err)
	}
}

// TestCheckFile: a file that is damaged, foreign or missing is refused.
func TestCheckFile(t *testing.T) {
	l := newLedger(t)
	for i := range 50 {
		l.putTTL(fmt.Sprint("k", i), fmt.Sprint("d", i), 0)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "backup.db")
	l.ok(l.Backup(l.ctx, path))
	l.ok(CheckFile(l.ctx, path))
	if _, err := os.Stat(path + ".partial"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left over: %v", err)
	}
	whole, err := os.ReadFile(path)
	l.ok(err)
	for i := 8 * 4096; i < 9*4096; i++ {
		whole[i] ^= 0x5a
	}
	l.ok(os.WriteFile(path, whole, 0o600))
	l.refused(CheckFile(l.ctx, path), lethe.ErrCorrupt)
	_, err = Accept(l.ctx, path, ledger.Options{})
	l.refused(err, lethe.ErrCorrupt)
	text := filepath.Join(dir, "text")
	l.ok(os.WriteFile(text, []byte("this is not a database at all, and never was"), 0o600))
	l.refused(CheckFile(l.ctx, text), lethe.ErrCorrupt)
	l.refused(CheckFile(l.ctx, filepath.Join(dir, "missing")), os.ErrNotExist)
	if err := l.Backup(l.ctx, filepath.Join(dir, "no", "such", "folder")); err == nil {
		t.Error("backed up into nothing")
	}
}
