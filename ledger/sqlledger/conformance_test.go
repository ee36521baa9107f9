package sqlledger_test

import (
	"context"
	"flag"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/ledger/memledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/test/servers"
)

func openSQLite(t testing.TB, o ledger.Options) ledgertest.Ledger {
	return openAt(t, sqlledger.Memory, o)
}

func openFile(t testing.TB, o ledger.Options) ledgertest.Ledger {
	return openAt(t, filepath.Join(t.TempDir(), "ledger.db"), o)
}

func openAt(t testing.TB, path string, o ledger.Options) ledgertest.Ledger {
	t.Helper()
	db, err := sqlledger.Open(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	return &viewed{db, t}
}

// viewed is a ledger whose views are compared with its counters when it is closed, whatever
// the test did.
type viewed struct {
	*sqlledger.DB
	t testing.TB
}

// Close implements io.Closer.
func (v *viewed) Close() error {
	sameViews(v.t, v.DB)
	return v.DB.Close()
}

// sameViews compares what the views of operators show with the counters.
func sameViews(t testing.TB, db *sqlledger.DB) {
	t.Helper()
	ctx := context.Background()
	want, err := db.Totals(ctx)
	if err != nil {
		t.Errorf("totals: %v", err)
	}
	have, err := db.ViewTotals(ctx)
	if err != nil {
		t.Errorf("views: %v", err)
	}
	if !slices.Equal(want, have) {
		t.Errorf("the counters say %+v, the views show %+v", want, have)
	}
}

func openMemory(_ testing.TB, o ledger.Options) ledgertest.Ledger { return memledger.New(o) }

// TestConformance runs the conformance suite on the ledger.
func TestConformance(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		if !*variants {
			t.Skip("the same statements as on a file: -ledger.variants runs them")
		}
		t.Parallel()
		ledgertest.Run(t, openSQLite)
	})
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		ledgertest.Run(t, openFile)
	})
}

var variants = flag.Bool("ledger.variants", false, "run the suite in memory and through PgBouncer as well")

// TestPostgresConformance does so on a ledger in PostgreSQL.
func TestPostgresConformance(t *testing.T) {
	t.Run("direct", func(t *testing.T) {
		t.Parallel()
		url := servers.Postgres(t)
		ledgertest.Run(t, twice(onServer(t, url, url)))
	})
	t.Run("pooler", func(t *testing.T) {
		if !*variants {
			t.Skip("make variants runs it")
		}
		t.Parallel()
		url := servers.Postgres(t)
		ledgertest.Run(t, onServer(t, servers.PgBouncer(t, url), url))
	})
}

// histories sets the number of random histories of a test, unless the flag -rapid.checks
// does.
func histories(t *testing.T, checks, short string) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	if f == nil || f.Value.String() != f.DefValue {
		return
	}
	if testing.Short() {
		checks = short
	}
	if err := f.Value.Set(checks); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(f.DefValue) })
}

// TestEqualsMemoryLedger runs the same random histories on this ledger and the in-memory
// one; -rapid.checks sets their number.
func TestEqualsMemoryLedger(t *testing.T) {
	histories(t, "150", "30")
	ledgertest.Differ(t, 60, openMemory, openSQLite)
}

// TestPostgresEqualsMemoryLedger does so with a ledger in PostgreSQL.
func TestPostgresEqualsMemoryLedger(t *testing.T) {
	histories(t, "20", "10")
	url := servers.Postgres(t)
	ledgertest.DifferApart(t, 30, openMemory, onServer(t, url, url))
}
