package meta_test

import (
	"context"
	"flag"
	"path/filepath"
	"testing"

	"github.com/lethe-storage/lethe/internal/servers"
	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/meta/memmeta"
	"github.com/lethe-storage/lethe/meta/metatest"
)

func openSQLite(t testing.TB, o meta.Options) metatest.Ledger { return openAt(t, meta.Memory, o) }

func openFile(t testing.TB, o meta.Options) metatest.Ledger {
	return openAt(t, filepath.Join(t.TempDir(), "ledger.db"), o)
}

func openAt(t testing.TB, path string, o meta.Options) metatest.Ledger {
	t.Helper()
	db, err := meta.Open(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func openMemory(_ testing.TB, o meta.Options) metatest.Ledger { return memmeta.New(o) }

// TestConformance holds the ledger to the suite of all ledgers.
func TestConformance(t *testing.T) {
	t.Run("memory", func(t *testing.T) { metatest.Run(t, openSQLite) })
	t.Run("file", func(t *testing.T) { metatest.Run(t, openFile) })
}

// TestPostgresConformance does so with a ledger in PostgreSQL.
func TestPostgresConformance(t *testing.T) {
	t.Run("direct", func(t *testing.T) {
		url := servers.Postgres(t)
		metatest.Run(t, onServer(t, url, url))
	})
	t.Run("pooler", func(t *testing.T) {
		url := servers.Postgres(t)
		metatest.Run(t, onServer(t, servers.PgBouncer(t, url), url))
	})
}

// histories sets how many random histories a test lives through, unless the flag
// -rapid.checks says it.
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

// TestEqualsMemoryLedger makes the ledger and the in-memory ledger live through
// the same random histories; -rapid.checks says how many.
func TestEqualsMemoryLedger(t *testing.T) {
	histories(t, "300", "30")
	metatest.Differ(t, 60, openMemory, openSQLite)
}

// TestPostgresEqualsMemoryLedger does so with a ledger in PostgreSQL.
func TestPostgresEqualsMemoryLedger(t *testing.T) {
	histories(t, "40", "10")
	url := servers.Postgres(t)
	metatest.Differ(t, 60, openMemory, onServer(t, url, url))
}
