package meta

import (
	"context"
	"testing"

	"github.com/lethe-storage/lethe/internal/servers"
)

// openServer opens a ledger in a fresh database.
func openServer(t testing.TB, o Options) *DB {
	t.Helper()
	return openServerAt(t, servers.Postgres(t), o)
}

func openServerAt(t testing.TB, url string, o Options, set ...Setting) *DB {
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
	db := openServer(t, Options{})
	for _, text := range textsOf(postgresDialect) {
		st, err := db.pg.runners[request].Pool.Prepare(postgresDialect.Expand(text))
		if err != nil {
			t.Errorf("%v in %s", err, text)
			continue
		}
		st.Close()
	}
}
