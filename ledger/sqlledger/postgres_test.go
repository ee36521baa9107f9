package sqlledger

import (
	"context"
	"errors"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
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

// TestContentInUseStays: the database refuses to drop a content that an object refers to. It
// asks only whether one does (RESTRICT), not first whether another row has the id.
func TestContentInUseStays(t *testing.T) {
	db := openServer(t, ledger.Options{})
	setUp(t, db)
	content := mustPut(t, db, "k", hexSum("k")).Object.ContentID
	err := db.write(t.Context(), "drop a content", func(x *tx) error {
		_, err := x.Exec(dropContents, sqldb.JSON([]lethe.ID{content}), 1)
		return err
	})
	if !errors.Is(err, lethe.ErrCorrupt) {
		t.Errorf("dropped: %v", err)
	}
	var twice int
	if err := db.read(t.Context(), "foreign keys", func(x *tx) error {
		return x.Row(`SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND confrelid = 'contents'::regclass AND confdeltype <> 'r'`).Scan(&twice)
	}); err != nil || twice > 0 {
		t.Errorf("%d foreign keys ask twice: %v", twice, err)
	}
}
