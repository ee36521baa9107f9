package sqlledger

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

const mib = 1 << 20

// ballastOf returns the size of the ballast of the ledger at path, -1 if there is none.
func ballastOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path + ".ballast")
	if errors.Is(err, os.ErrNotExist) {
		return -1
	}
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestFullDiskRefusesGrowth: while the ballast is given up, writes that need space are
// refused, deletes work, and so do the holds that stop them.
func TestFullDiskRefusesGrowth(t *testing.T) {
	path := filePath(t)
	db := openTest(t, path, ledger.Options{}, Ballast(mib))
	setUp(t, db)
	l := &fixture{DB: db, t: t, ctx: t.Context(), clock: newTestClock()}
	body := strings.Repeat("m", 100)
	id, moved := l.begin(10), l.putTTL("moved", hexSum(body), 0).Object.ContentID
	l.ok(db.Close())
	l.ok(os.Truncate(path+".ballast", 0))
	l.DB = openTest(t, path, ledger.Options{}, Ballast(mib), func(s *settings) {
		s.engine.FreeBytes = func(string) (int64, error) { return 0, nil }
	})
	l.refusesGrowth()
	_, err := l.MoveToLedger(l.ctx, moved, ledger.NewBody(hexSum(body), []byte(body)))
	l.refused(err, lethe.ErrNoRoom)
	l.ok(l.Abandon(l.ctx, id, true))
	_, err = l.AddHold(l.ctx, ledger.Hold{Bucket: "b", Key: "moved", Scope: ledger.HoldObject})
	l.ok(err)
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
