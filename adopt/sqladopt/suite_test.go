package sqladopt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/adopttest"
	"github.com/lethe-storage/lethe/test/servers"
)

func TestSuite(t *testing.T) {
	database := servers.Postgres(t)
	adopttest.Run(t, func(t *testing.T, v adopttest.Variant) adopttest.Site {
		s := newSite(t, database, kind{Variant: v})
		return adopttest.Site{Records: s.Collection, Contents: s.Collection, Cached: s.Collection, Holder: s.Collection, Taker: s.Collection, Ender: s.Collection, Quarantine: s.Collection.Quarantine(), Troubles: s.Collection.Troubles(), App: s}
	})
}

// kind is the form of an application's tables.
type kind struct {
	adopttest.Variant
	key       string // type of the keys of contents (default text)
	loose     bool   // no foreign key
	isolation pgx.TxIsoLevel
}

// site is an application on PostgreSQL, and its collection.
type site struct {
	*Collection
	t           *testing.T
	kind        kind
	pool        *pgxpool.Pool
	url, schema string
	// passed is how far the clock is ahead; begin is the text that begins the
	// collection's transactions.
	passed time.Duration
	begin  beginnings
}

func (k kind) tables() string {
	if k.key == "" {
		k.key = "text"
	}
	reference := "REFERENCES content"
	if k.loose {
		reference = ""
	}
	count := "ref_count bigint NOT NULL CHECK (ref_count >= 0)"
	if k.Uncounted {
		count = "made boolean"
	}
	stamp := "timestamptz"
	if k.Seconds {
		stamp = "timestamptz(0)"
	}
	pinned := "pastes"
	if k.Shared {
		pinned = "content"
	}
	return fmt.Sprintf(`CREATE TABLE content (hash %s PRIMARY KEY, %s);
		CREATE TABLE pastes (
			code text PRIMARY KEY, hash %s %s, expires_at timestamptz,
			status varchar(20) NOT NULL DEFAULT 'NOT_EXPIRED' CHECK (status IN ('NOT_EXPIRED', 'DELETION_IN_PROGRESS', 'DELETED')),
			initiated_at %s);
		CREATE TABLE pins (code text UNIQUE REFERENCES %s)`, k.key, count, k.key, reference, stamp, pinned)
}

func (k kind) description() adopt.Collection {
	c := adopt.Collection{
		Mode: adopt.Reclaim, Guard: adopt.TriggerGuard, Cache: []string{"paste:{code}"},
		Rows: adopt.Rows{Table: "pastes", Key: "code", End: "expires_at", Initiated: "initiated_at", Content: "hash",
			Status: &adopt.Status{Column: "status", Live: "NOT_EXPIRED", Claimed: "DELETION_IN_PROGRESS"}},
		Contents: &adopt.Table{Table: "content", Key: "hash", Count: "ref_count", Object: "content/{hash}"},
	}
	if k.ByContent {
		c.Cache = append(c.Cache, "content:{hash}")
	}
	if k.Quarantine {
		c.Guard, c.Quarantine = adopt.QuarantineGuard, &adopt.QuarantineSpec{Prefix: "kept/"}
	}
	if k.Keep {
		c.Rows.Status.Deleted = "DELETED"
	}
	if k.Uncounted {
		c.Contents.Count = ""
	}
	if k.Unclaimed {
		c.Rows.Status, c.Rows.Initiated = nil, ""
	}
	return c
}

// sites counts sites: each has two schemas.
var sites atomic.Int64

func newSite(t *testing.T, database string, k kind) *site {
	t.Helper()
	n := sites.Add(1)
	url := fmt.Sprintf("%s&search_path=app%d", database, n)
	if k.key == "bytea" {
		url += "&bytea_output=escape"
	}
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if _, err := pool.Exec(t.Context(), fmt.Sprintf("CREATE SCHEMA app%d;", n)+k.tables()); err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, kind: k, pool: pool, url: url, schema: fmt.Sprintf("lethe%d", n)}
	s.Collection = s.open(k.description())
	return s
}

// open opens a collection with Lethe's tables and its guard.
func (s *site) open(d adopt.Collection) *Collection {
	s.t.Helper()
	c := s.reopened(d)
	if d.Guard == adopt.QuarantineGuard {
		return c
	}
	if err := c.InstallGuard(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return c
}

// reopened opens a collection with Lethe's tables.
func (s *site) reopened(d adopt.Collection) *Collection {
	t := s.t
	t.Helper()
	db, err := Open(t.Context(), s.url, Options{Schema: s.schema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := db.Collection(t.Context(), "pastes", d)
	if err != nil {
		t.Fatal(err)
	}
	if s.passed != 0 {
		db.begin = s.begin.at(s.now())
	}
	return c
}

// Pass implements adopttest.Application: it sets the time that the database's
// transactions get.
func (s *site) Pass(d time.Duration) {
	if s.passed == 0 {
		s.begin = s.db.begin
	}
	s.passed += d
	s.db.begin = s.begin.at(s.now())
}

// at returns them with another expression for the time.
func (b beginnings) at(now string) beginnings {
	return beginnings{strings.Replace(b.write, "clock_timestamp()", now, 1), strings.Replace(b.read, "clock_timestamp()", now, 1)}
}

func (s *site) now() string {
	return fmt.Sprintf("(clock_timestamp() + INTERVAL '%d microseconds')", s.passed.Microseconds())
}

// do runs a transaction of the application.
func (s *site) do(ctx context.Context, fn func(tx pgx.Tx) error) error {
	return refusal(pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: s.kind.isolation}, fn))
}

func refusal(err error) error {
	if refused := new(pgconn.PgError); errors.As(err, &refused) && refused.Code == "40001" {
		return fmt.Errorf("%w: %w", adopttest.ErrRefused, err)
	}
	return err
}

// one runs a statement that has to change one row.
func one(ctx context.Context, tx pgx.Tx, query string, args ...any) error {
	tag, err := tx.Exec(ctx, query, args...)
	if err == nil && tag.RowsAffected() != 1 {
		err = fmt.Errorf("%d rows were changed, not 1, by %s", tag.RowsAffected(), query)
	}
	return err
}

// end returns the expression of an end.
func (s *site) end(in time.Duration) string {
	if in == adopttest.Never {
		return "NULL::timestamptz"
	}
	return fmt.Sprintf("%s + INTERVAL '%d microseconds'", s.now(), in.Microseconds())
}

func (s *site) take(ctx context.Context, tx pgx.Tx, content string) error {
	if s.kind.Uncounted {
		_, err := tx.Exec(ctx, "INSERT INTO content (hash) VALUES ($1) ON CONFLICT DO NOTHING", content)
		return err
	}
	return one(ctx, tx, "INSERT INTO content VALUES ($1, 1) ON CONFLICT (hash) DO UPDATE SET ref_count = content.ref_count + 1", content)
}

func (s *site) release(ctx context.Context, tx pgx.Tx, content string) error {
	if s.kind.Uncounted {
		return nil
	}
	return one(ctx, tx, "UPDATE content SET ref_count = ref_count - 1 WHERE hash = $1", content)
}

// Put implements adopttest.Writer.
func (s *site) Put(ctx context.Context, r adopttest.Row) error {
	return s.do(ctx, func(tx pgx.Tx) error {
		if err := s.take(ctx, tx, r.Content); err != nil {
			return err
		}
		return s.insert(ctx, tx, r)
	})
}

func (s *site) insert(ctx context.Context, tx pgx.Tx, r adopttest.Row) error {
	return one(ctx, tx, "INSERT INTO pastes (code, hash, expires_at) VALUES ($1, $2, "+s.end(r.In)+")", r.Key, r.Content)
}

// Extend implements adopttest.Writer.
func (s *site) Extend(ctx context.Context, key string, in time.Duration) error {
	return s.do(ctx, func(tx pgx.Tx) error {
		return one(ctx, tx, "UPDATE pastes SET expires_at = "+s.end(in)+" WHERE code = $1", key)
	})
}

// Replace implements adopttest.Writer.
func (s *site) Replace(ctx context.Context, key, content string) error {
	return s.do(ctx, func(tx pgx.Tx) error {
		var old string
		if err := tx.QueryRow(ctx, "SELECT hash::text FROM pastes WHERE code = $1 FOR UPDATE", key).Scan(&old); err != nil {
			return err
		}
		if err := s.take(ctx, tx, content); err != nil {
			return err
		}
		if err := s.release(ctx, tx, old); err != nil {
			return err
		}
		return one(ctx, tx, "UPDATE pastes SET hash = $2 WHERE code = $1", key, content)
	})
}

// Delete implements adopttest.Writer.
func (s *site) Delete(ctx context.Context, key string) error {
	return s.do(ctx, func(tx pgx.Tx) error {
		var content string
		if err := tx.QueryRow(ctx, "DELETE FROM pastes WHERE code = $1 RETURNING hash::text", key).Scan(&content); err != nil {
			return err
		}
		return s.release(ctx, tx, content)
	})
}

// past runs a transaction for which no trigger fires.
func (s *site) past(ctx context.Context, fn func(tx pgx.Tx) error) error {
	return s.do(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL session_replication_role = replica"); err != nil {
			return err
		}
		return fn(tx)
	})
}

// Refer implements adopttest.Meddler.
func (s *site) Refer(ctx context.Context, r adopttest.Row) error {
	return s.past(ctx, func(tx pgx.Tx) error { return s.insert(ctx, tx, r) })
}

// SetCount implements adopttest.Meddler.
func (s *site) SetCount(ctx context.Context, content string, n int64) error {
	return s.past(ctx, func(tx pgx.Tx) error {
		return one(ctx, tx, "INSERT INTO content VALUES ($1, $2) ON CONFLICT (hash) DO UPDATE SET ref_count = $2", content, n)
	})
}

// Forget implements adopttest.Meddler.
func (s *site) Forget(ctx context.Context, content string) error {
	return s.past(ctx, func(tx pgx.Tx) error { return one(ctx, tx, "DELETE FROM content WHERE hash = $1", content) })
}

// Pin implements adopttest.Meddler.
func (s *site) Pin(ctx context.Context, key string, pinned bool) error {
	statement := "DELETE FROM pins WHERE code = $1"
	if pinned {
		statement = "INSERT INTO pins VALUES ($1)"
	}
	_, err := s.pool.Exec(ctx, statement, key)
	return err
}

// Lock implements adopttest.Meddler.
func (s *site) Lock(ctx context.Context, content string) (unlock func(), err error) {
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return func() { _ = tx.Rollback(ctx) }, one(ctx, tx, "SELECT 1 FROM content WHERE hash = $1 FOR NO KEY UPDATE", content)
}

// State implements adopttest.Viewer.
func (s *site) State(ctx context.Context, key string) (adopttest.State, error) {
	return stateOf(key, s.pool.QueryRow(ctx, "SELECT status, hash::text FROM pastes WHERE code = $1", key).Scan)
}

// Count implements adopttest.Viewer.
func (s *site) Count(ctx context.Context, content string) (n int64, there bool, err error) {
	column := "ref_count"
	if s.kind.Uncounted {
		column = "0::bigint"
	}
	return countOf(s.pool.QueryRow(ctx, "SELECT "+column+" FROM content WHERE hash = $1", content).Scan)
}
