package sqlledger

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
	"github.com/lethe-storage/lethe/test/servers"
)

// TestServerKilled: while PostgreSQL is down every call reports it. Afterwards everything
// works again, with all acknowledged writes.
func TestServerKilled(t *testing.T) {
	s := servers.NewPostgres(t)
	db := openServerAt(t, s.Database(), ledger.Options{})
	setUp(t, db)
	for i := range 20 { // connections that are idle when the server dies
		go db.Bucket(t.Context(), "b")
		mustPut(t, db, "before", hexSum(string(rune('a'+i))))
	}
	before := mustPut(t, db, "before", "digest")
	s.Kill()
	if _, err := put(db, "during", "digest"); !errors.Is(err, lethe.ErrUnavailable) && !errors.Is(err, lethe.ErrUnknownOutcome) {
		t.Errorf("a write without a server: %v", err)
	}
	if _, err := db.Resolve(t.Context(), "b", "before"); !errors.Is(err, lethe.ErrUnavailable) {
		t.Errorf("a read without a server: %v", err)
	}
	s.Restart()
	r, err := db.Resolve(t.Context(), "b", "before")
	if err != nil || r.Object.ID != before.Object.ID {
		t.Errorf("after the restart: %+v, %v", r.Object, err)
	}
	mustPut(t, db, "after", "digest")
	s.Kill()
	s.Restart()
	mustPut(t, db, "after", "digest") // every idle connection is dead
	sound(t, db)
}

// TestBackendAddedAgain: a transaction whose connection ends in the middle of a statement runs
// again with what it was asked, not with what the failed statement left.
func TestBackendAddedAgain(t *testing.T) {
	db, ctx := openServer(t, ledger.Options{}), t.Context()
	if _, err := db.AddBackend(ctx, ledger.Backend{ID: "disk", Quota: 100}); err != nil {
		t.Fatal(err)
	}
	pool := db.engine.Server.Runners[engine.Batch].Pool
	other, err := pool.BeginTx(ctx, nil)
	if err == nil {
		_, err = other.ExecContext(ctx, "SELECT 1 FROM backends WHERE id = 'disk' FOR UPDATE")
	}
	if err != nil {
		t.Fatal(err)
	}
	added := make(chan ledger.Backend)
	go func() {
		b, err := db.AddBackend(ctx, ledger.Backend{ID: "disk", Quota: 200})
		if err != nil {
			t.Error(err)
		}
		added <- b
	}()
	const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
	for ended := false; !ended; {
		if err := pool.QueryRowContext(ctx, end).Scan(&ended); err != nil && !errors.Is(err, sql.ErrNoRows) {
			t.Fatal(err)
		}
	}
	if err := other.Rollback(); err != nil {
		t.Fatal(err)
	}
	if b := <-added; b.ID != "disk" || b.Quota != 200 {
		t.Errorf("added %+v", b)
	}
	if list, err := db.Backends(ctx); err != nil || len(list) != 1 || list[0].Quota != 200 {
		t.Errorf("there are %+v, %v", list, err)
	}
}
