package sqlledger

import (
	"context"
	"database/sql"
	"testing"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
	"github.com/lethe-storage/lethe/test/servers"
)

// fetched returns how many rows of objects PostgreSQL has read. Its processes count what they
// did when they end, so the ledger is closed.
func fetched(t *testing.T, url string) (n int64) {
	t.Helper()
	pool, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	const others = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`
	for left := 1; left > 0; {
		if err := pool.QueryRow(others).Scan(&left); err != nil {
			t.Fatal(err)
		}
	}
	const rows = `SELECT coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0) FROM pg_stat_user_tables WHERE relname = 'objects'`
	if err := pool.QueryRow(rows).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A page of a listing costs what it shows: of each common prefix a few rows, and of what lies
// behind the page and the prefix none.
func TestPostgresListsReadWhatTheyShow(t *testing.T) {
	url := servers.Postgres(t)
	open := func() *DB {
		db, err := OpenPostgres(t.Context(), url, ledger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	db := open()
	setUp(t, db)
	clock := newTestClock()
	fillKeys(t, db, clock, []string{"k"}, func(string) bool { return false })
	const folders, each = 200, 60
	_, err := db.engine.Server.Runners[engine.Request].Pool.Exec(`INSERT INTO objects (`+objectColumns+`)
		SELECT bucket_id, 'p' || lpad(($1::int + i / $1::int)::text, 4, '0') || '/' || lpad(i::text, 6, '0'), id || i, content_id, size, etag, modified_at,
			ttl_at, rule_at, attrs, tags, rule_no, reads_left, idle_for, idle_at, used_at
		FROM objects, generate_series(0, $2::int) i WHERE key = 'k'`, each, folders*each-1)
	if err == nil {
		_, err = db.engine.Server.Runners[engine.Request].Pool.Exec(`ANALYZE objects`)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		q             ledger.ListQuery
		entries, most int
	}{
		{ledger.ListQuery{Limit: 1}, 1, 2},
		{ledger.ListQuery{Limit: 1000}, 1000, 1001},
		{ledger.ListQuery{Limit: 1000, Prefix: "p"}, 1000, 1001},
		{ledger.ListQuery{Limit: 1000, Prefix: "absent"}, 0, begun},
		{ledger.ListQuery{Limit: 1000, Prefix: "absent", Delimiter: "/"}, 0, begun},
		{ledger.ListQuery{Limit: 1000, Delimiter: "/"}, folders + 1, (folders + 1) * begun},
	} {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		before := fetched(t, url)
		db = open()
		c.q.Bucket = "b"
		page, err := db.List(context.Background(), c.q)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(page.Objects) + len(page.Prefixes); n != c.entries {
			t.Errorf("%+v: %d entries", c.q, n)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if n := fetched(t, url) - before; n > int64(c.most) {
			t.Errorf("%+v: %d rows, at most %d", c.q, n, c.most)
		}
		db = open()
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
