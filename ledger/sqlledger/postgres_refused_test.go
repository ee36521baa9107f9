package sqlledger

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
)

// TestDatabaseThatOnlyReads: a database that takes no writes for a while is named as such. A
// connection made meanwhile may only read as long as it lasts, so it is not kept: writes go on
// as soon as the database takes them.
func TestDatabaseThatOnlyReads(t *testing.T) {
	db, ctx := openServer(t, ledger.Options{}), t.Context()
	setUp(t, db)
	admin, err := db.engine.Server.Runners[engine.Batch].Pool.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	run(t, admin, `SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE`)
	takesWrites(t, admin, "off")
	run(t, admin, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	if why := db.Stats().Refused; why != "" {
		t.Fatalf("before any write: %s", why)
	}
	if _, err := put(db, "during", "digest"); !errors.Is(err, lethe.ErrUnavailable) {
		t.Fatalf("a write: %v", err)
	}
	if why := db.Stats().Refused; !strings.HasPrefix(why, "this connection may only read") {
		t.Errorf("the reason is %q", why)
	}
	takesWrites(t, admin, "on")
	for range db.engine.Server.Runners[engine.Request].Pool.Stats().OpenConnections {
		if _, err = put(db, "after", "digest"); err == nil {
			break
		}
	}
	mustPut(t, db, "later", "digest")
	sound(t, db)
}

// takesWrites sets whether new connections to the database may write.
func takesWrites(t *testing.T, admin *sql.Conn, state string) {
	t.Helper()
	readOnly := map[string]string{"on": "off", "off": "on"}[state]
	run(t, admin, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = `+readOnly+`', current_database()); END $$`)
}

func run(t *testing.T, c *sql.Conn, text string) {
	t.Helper()
	if _, err := c.ExecContext(context.WithoutCancel(t.Context()), text); err != nil {
		t.Fatal(err)
	}
}
