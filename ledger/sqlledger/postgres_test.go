package sqlledger

import (
	"context"
	"testing"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
	"github.com/lethe-storage/lethe/test/servers"
)

// openServer opens a ledger in a fresh database.
func openServer(t testing.TB, o ledger.Options) *DB {
	t.Helper()
	return openServerAt(t, servers.Postgres(t), o)
}

func openServerAt(t testing.TB, url string, o ledger.Options, set ...Setting) *DB {
	t.Helper()
	db, err := OpenPostgres(context.Background(), url, o, set...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// TestPostgresStatements prepares every statement.
func TestPostgresStatements(t *testing.T) {
	db := openServer(t, ledger.Options{})
	for _, text := range engine.Statements(db.engine.Dialect) {
		st, err := db.engine.Server.Runners[engine.Request].Pool.Prepare(db.engine.Dialect.Expand(text))
		if err != nil {
			t.Errorf("%v in %s", err, text)
			continue
		}
		st.Close()
	}
}
