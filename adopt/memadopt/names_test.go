package memadopt_test

import (
	"context"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt/adopttest"
	"github.com/lethe-storage/lethe/adopt/memadopt"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/memledger"
)

// table is rows that name a folder, or a key, each.
type table struct {
	*app
	rows interface {
		Insert(name string)
		Remove(name string)
	}
}

func (t table) Insert(_ context.Context, name string) error {
	t.rows.Insert(name)
	return nil
}

func (t table) Remove(_ context.Context, name string) error {
	t.rows.Remove(name)
	return nil
}

func newClock() *app {
	a := &app{}
	a.Pass(365 * 24 * time.Hour)
	return a
}

func TestFoldersSuite(t *testing.T) {
	adopttest.RunFolders(t, func(*testing.T) adopttest.FolderSite {
		clock := newClock()
		rows := memadopt.NewFolders(clock)
		return adopttest.FolderSite{FolderRows: rows, Holder: rows, App: table{clock, rows}}
	})
}

func TestKeysSuite(t *testing.T) {
	adopttest.RunKeys(t, func(*testing.T) adopttest.KeySite {
		clock := newClock()
		rows := memadopt.NewKeys(clock)
		return adopttest.KeySite{KeyRows: rows, Holder: rows, App: table{clock, rows}}
	})
}

// The history of runs in memory behaves as the ledger's.
func TestRunsSuite(t *testing.T) {
	adopttest.RunRuns(t, func(*testing.T) adopttest.RunSite {
		clock := newClock()
		return adopttest.RunSite{Runs: memledger.New(ledger.Options{Clock: clock}), Pass: clock.Pass}
	})
}
