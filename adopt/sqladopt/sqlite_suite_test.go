package sqladopt

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/adopttest"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

func TestSQLiteSuite(t *testing.T) {
	for _, times := range []string{"text", "integer"} {
		t.Run(times, func(t *testing.T) {
			adopttest.Run(t, func(t *testing.T, v adopttest.Variant) adopttest.Site {
				if v.Seconds && times == "text" {
					t.Skip("claims are written in milliseconds")
				}
				s := newLiteSite(t, liteKind{kind: kind{Variant: v}, times: times})
				return adopttest.Site{Records: s.Collection, Contents: s.Collection, Cached: s.Collection, Holder: s.Collection, Taker: s.Collection, Ender: s.Collection, Quarantine: s.Collection.Quarantine(), Troubles: s.Collection.Troubles(), App: s}
			})
		})
	}
}

func TestSQLiteFoldersSuite(t *testing.T) {
	adopttest.RunFolders(t, func(t *testing.T) adopttest.FolderSite {
		s := newLiteSite(t, liteKind{})
		rows, err := s.db.Folders(t.Context(), "folders", adopt.Collection{Folders: &adopt.FolderSpec{Live: adopt.LiveSpec{Table: "named", Name: "{name}"}}})
		if err != nil {
			t.Fatal(err)
		}
		return adopttest.FolderSite{FolderRows: rows, Holder: rows, App: s}
	})
}

func TestSQLiteKeysSuite(t *testing.T) {
	adopttest.RunKeys(t, func(t *testing.T) adopttest.KeySite {
		s := newLiteSite(t, liteKind{})
		rows, err := s.db.Keys(t.Context(), "keys", adopt.Collection{Keys: &adopt.KeySpec{Query: "SELECT name FROM named -- all"}})
		if err != nil {
			t.Fatal(err)
		}
		return adopttest.KeySite{KeyRows: rows, Holder: rows, App: s}
	})
}

func TestSQLiteRunsSuite(t *testing.T) {
	adopttest.RunRuns(t, func(t *testing.T) adopttest.RunSite {
		s := newLiteSite(t, liteKind{})
		return adopttest.RunSite{Runs: s.db, Pass: s.Pass}
	})
}

// liteKind is the form of an application's tables in SQLite.
type liteKind struct {
	kind
	times   string // type of the columns of times (default text)
	journal string // mode of the file's journal (default WAL)
}

func (k liteKind) script() string {
	key, reference, count, times := "text", "REFERENCES content", "ref_count bigint NOT NULL CHECK (ref_count >= 0)", "text"
	if k.key != "" {
		key = k.key
	}
	if k.loose {
		reference = ""
	}
	if k.Uncounted {
		count = "made boolean"
	}
	if k.times != "" {
		times = k.times
	}
	pinned := "pastes"
	if k.Shared {
		pinned = "content"
	}
	return fmt.Sprintf(`CREATE TABLE content (hash %[1]s PRIMARY KEY, %[3]s);
		CREATE TABLE pastes (
			code text PRIMARY KEY, hash %[1]s %[2]s, expires_at %[4]s,
			status varchar(20) NOT NULL DEFAULT 'NOT_EXPIRED' CHECK (status IN ('NOT_EXPIRED', 'DELETION_IN_PROGRESS', 'DELETED')),
			initiated_at %[4]s);
		CREATE TABLE pins (code text UNIQUE REFERENCES %[5]s);
		CREATE TABLE named (name text)`, key, reference, count, times, pinned)
}

// liteSite is an application on SQLite, and its collection.
type liteSite struct {
	*Collection
	t      *testing.T
	kind   liteKind
	app    *sql.DB
	loose  *sql.DB // does not enforce foreign keys
	path   string
	passed time.Duration
	begin  beginnings
}

func newLiteSite(t *testing.T, k liteKind) *liteSite {
	t.Helper()
	s := &liteSite{t: t, kind: k, path: filepath.Join(t.TempDir(), "app.db")}
	s.app, s.loose = openLite(t, s.path, true), openLite(t, s.path, false)
	mode := "WAL"
	if k.journal != "" {
		mode = k.journal
	}
	if _, err := s.app.ExecContext(t.Context(), "PRAGMA journal_mode = "+mode+";"+k.script()); err != nil {
		t.Fatal(err)
	}
	d := k.description()
	switch {
	case k.times == "integer" && k.Seconds:
		d.Rows.Unit = "s"
	case k.times == "integer":
		d.Rows.Unit = "us"
	default:
		d.Rows.Zone = "UTC"
	}
	s.Collection = s.opened(d)
	if k.Quarantine {
		return s
	}
	if err := s.InstallGuard(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// openLite opens a file as an application does, with or without enforced
// foreign keys.
func openLite(t *testing.T, path string, keys bool) *sql.DB {
	t.Helper()
	app, err := sql.Open("sqlite", fmt.Sprintf("file:%s?_pragma=busy_timeout(10000)&_pragma=foreign_keys(%v)&_txlock=immediate", path, keys))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close() })
	return app
}

// opened opens a collection with Lethe's tables.
func (s *liteSite) opened(d adopt.Collection) *Collection {
	t := s.t
	t.Helper()
	db := openDB(t, "sqlite:"+s.path)
	c, err := db.Collection(t.Context(), "pastes", d)
	if err != nil {
		t.Fatal(err)
	}
	s.begin = db.begin
	return c
}

// Pass implements adopttest.Application.
func (s *liteSite) Pass(d time.Duration) {
	s.passed += d
	shifted := func(text string) string {
		const clock = "unixepoch('now', 'subsec')"
		return strings.Replace(text, clock, fmt.Sprintf("(%s + %f)", clock, s.passed.Seconds()), 1)
	}
	s.db.begin = beginnings{shifted(s.begin.write), shifted(s.begin.read)}
}

// end returns the value of an end.
func (s *liteSite) end(in time.Duration) any {
	at := lethe.SystemClock{}.Now().Add(s.passed).Add(in)
	switch {
	case in == adopttest.Never:
		return nil
	case s.kind.times == "integer" && s.kind.Seconds:
		return at.Time().Unix()
	case s.kind.times == "integer":
		return int64(at)
	}
	return at.Time().UTC().Format("2006-01-02T15:04:05.000000")
}

// expire claims and settles the rows that have expired.
func (s *liteSite) expire(ctx context.Context) {
	s.t.Helper()
	claim, err := s.Claim(ctx, 9)
	if err == nil {
		_, err = s.Settle(ctx, claim, 0)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// do runs a transaction of the application.
func (s *liteSite) do(ctx context.Context, fn func(tx *sql.Tx) error) error {
	return doLite(ctx, s.app, fn)
}

func doLite(ctx context.Context, app *sql.DB, fn func(tx *sql.Tx) error) error {
	tx, err := app.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return errors.Join(liteRefusal(err), tx.Rollback())
	}
	return tx.Commit()
}

func liteRefusal(err error) error {
	if sqldb.Code(err) == sqlite3.SQLITE_CONSTRAINT_TRIGGER {
		return fmt.Errorf("%w: %w", adopttest.ErrRefused, err)
	}
	return err
}

// liteOne runs a statement that has to change one row.
func liteOne(ctx context.Context, tx *sql.Tx, query string, args ...any) error {
	res, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("%d rows were changed, not 1, by %s: %w", n, query, err)
	}
	return nil
}

func (s *liteSite) take(ctx context.Context, tx *sql.Tx, content any) error {
	if s.kind.Uncounted {
		_, err := tx.ExecContext(ctx, "INSERT INTO content (hash) VALUES (?) ON CONFLICT DO NOTHING", content)
		return err
	}
	return liteOne(ctx, tx, "INSERT INTO content VALUES (?, 1) ON CONFLICT (hash) DO UPDATE SET ref_count = ref_count + 1", content)
}

func (s *liteSite) release(ctx context.Context, tx *sql.Tx, content any) error {
	if s.kind.Uncounted {
		return nil
	}
	return liteOne(ctx, tx, "UPDATE content SET ref_count = ref_count - 1 WHERE hash = ?", content)
}

// Put implements adopttest.Writer.
func (s *liteSite) Put(ctx context.Context, r adopttest.Row) error {
	return s.do(ctx, func(tx *sql.Tx) error {
		if err := s.take(ctx, tx, r.Content); err != nil {
			return err
		}
		return s.insert(ctx, tx, r)
	})
}

func (s *liteSite) insert(ctx context.Context, tx *sql.Tx, r adopttest.Row) error {
	return liteOne(ctx, tx, "INSERT INTO pastes (code, hash, expires_at) VALUES (?, ?, ?)", r.Key, r.Content, s.end(r.In))
}

// Extend implements adopttest.Writer.
func (s *liteSite) Extend(ctx context.Context, key string, in time.Duration) error {
	return s.do(ctx, func(tx *sql.Tx) error {
		return liteOne(ctx, tx, "UPDATE pastes SET expires_at = ? WHERE code = ?", s.end(in), key)
	})
}

// Replace implements adopttest.Writer.
func (s *liteSite) Replace(ctx context.Context, key, content string) error {
	return s.do(ctx, func(tx *sql.Tx) error {
		var old string
		if err := tx.QueryRowContext(ctx, "SELECT hash FROM pastes WHERE code = ?", key).Scan(&old); err != nil {
			return err
		}
		if err := s.take(ctx, tx, content); err != nil {
			return err
		}
		if err := s.release(ctx, tx, old); err != nil {
			return err
		}
		return liteOne(ctx, tx, "UPDATE pastes SET hash = ? WHERE code = ?", content, key)
	})
}

// Delete implements adopttest.Writer.
func (s *liteSite) Delete(ctx context.Context, key string) error {
	return s.do(ctx, func(tx *sql.Tx) error {
		var content string
		if err := tx.QueryRowContext(ctx, "DELETE FROM pastes WHERE code = ? RETURNING hash", key).Scan(&content); err != nil {
			return err
		}
		return s.release(ctx, tx, content)
	})
}

// past runs a transaction without triggers and foreign keys.
func (s *liteSite) past(ctx context.Context, fn func(tx *sql.Tx) error) error {
	return doLite(ctx, s.loose, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
		if err != nil {
			return err
		}
		texts, err := sqldb.Collect(rows, func(r *sql.Rows) (t [2]string, err error) {
			err = r.Scan(&t[0], &t[1])
			return t, err
		})
		if err != nil {
			return err
		}
		for _, t := range texts {
			if _, err := tx.ExecContext(ctx, "DROP TRIGGER "+sqldb.Quoted(t[0])); err != nil {
				return err
			}
		}
		if err := fn(tx); err != nil {
			return err
		}
		for _, t := range texts {
			if _, err := tx.ExecContext(ctx, t[1]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Refer implements adopttest.Meddler.
func (s *liteSite) Refer(ctx context.Context, r adopttest.Row) error {
	return s.past(ctx, func(tx *sql.Tx) error { return s.insert(ctx, tx, r) })
}

// SetCount implements adopttest.Meddler.
func (s *liteSite) SetCount(ctx context.Context, content string, n int64) error {
	return s.past(ctx, func(tx *sql.Tx) error {
		return liteOne(ctx, tx, "INSERT INTO content VALUES (?1, ?2) ON CONFLICT (hash) DO UPDATE SET ref_count = ?2", content, n)
	})
}

// Forget implements adopttest.Meddler.
func (s *liteSite) Forget(ctx context.Context, content string) error {
	return s.past(ctx, func(tx *sql.Tx) error { return liteOne(ctx, tx, "DELETE FROM content WHERE hash = ?1", content) })
}

// Pin implements adopttest.Meddler.
func (s *liteSite) Pin(ctx context.Context, key string, pinned bool) error {
	statement := "DELETE FROM pins WHERE code = ?"
	if pinned {
		statement = "INSERT INTO pins VALUES (?)"
	}
	_, err := s.app.ExecContext(ctx, statement, key)
	return err
}

// Lock implements adopttest.Meddler.
func (s *liteSite) Lock(context.Context, string) (unlock func(), err error) {
	return nil, adopttest.ErrAlone
}

// State implements adopttest.Viewer.
func (s *liteSite) State(ctx context.Context, key string) (adopttest.State, error) {
	return stateOf(key, s.app.QueryRowContext(ctx, "SELECT status, CAST(hash AS TEXT) FROM pastes WHERE code = ?", key).Scan)
}

// Count implements adopttest.Viewer.
func (s *liteSite) Count(ctx context.Context, content string) (n int64, there bool, err error) {
	column := "ref_count"
	if s.kind.Uncounted {
		column = "0"
	}
	return countOf(s.app.QueryRowContext(ctx, "SELECT "+column+" FROM content WHERE hash = ?", content).Scan)
}

// Insert implements adopttest.Names.
func (s *liteSite) Insert(ctx context.Context, name string) error {
	_, err := s.app.ExecContext(ctx, "INSERT INTO named VALUES (?)", name)
	return err
}

// Remove implements adopttest.Names.
func (s *liteSite) Remove(ctx context.Context, name string) error {
	_, err := s.app.ExecContext(ctx, "DELETE FROM named WHERE name = ?", name)
	return err
}
