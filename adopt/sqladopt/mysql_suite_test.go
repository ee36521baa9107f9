package sqladopt

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/adopttest"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/test/servers"
)

var moreTables = flag.Bool("sqladopt.tables", false, "run the suite on MariaDB with other types, isolation and without foreign keys as well")

func TestMySQLSuite(t *testing.T) {
	server := hastyMariaDB(t)
	for name, k := range map[string]mysqlKind{
		"plain": {},
		"other": {isolation: sql.LevelReadCommitted, key: "VARCHAR(64) CHARACTER SET latin1 COLLATE latin1_bin", times: "TIMESTAMP(3) NULL", loose: true},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "plain" && !*moreTables {
				t.Skip("make variants runs it")
			}
			adopttest.Run(t, func(t *testing.T, v adopttest.Variant) adopttest.Site {
				k := k
				k.Variant = v
				s := newMySQLSite(t, server.Database(t), k)
				return adopttest.Site{Records: s.Collection, Contents: s.Collection, Cached: s.Collection, Holder: s.Collection, Taker: s.Collection, Ender: s.Collection, Quarantine: s.Collection.Quarantine(), Troubles: s.Collection.Troubles(), App: s}
			})
		})
	}
}

// hastyMariaDB returns a server without durability.
func hastyMariaDB(t *testing.T) *servers.MariaDBServer {
	return servers.NewMariaDB(t, "--innodb-flush-method=nosync", "--innodb-flush-log-at-trx-commit=0", "--skip-innodb-doublewrite", "--innodb-file-per-table=0")
}

// mysqlNameSite is a table whose rows name a folder, or a key, each.
type mysqlNameSite struct{ *mysqlSite }

func newMySQLNameSite(t *testing.T, server *servers.MariaDBServer) mysqlNameSite {
	t.Helper()
	n := mysqlNameSite{newMySQLSite(t, server.Database(t), mysqlKind{})}
	n.must("CREATE TABLE named (name VARCHAR(700))")
	return n
}

func (n mysqlNameSite) Insert(ctx context.Context, name string) error {
	_, err := n.pool.ExecContext(ctx, "INSERT INTO named VALUES (?)", name)
	return err
}

func (n mysqlNameSite) Remove(ctx context.Context, name string) error {
	_, err := n.pool.ExecContext(ctx, "DELETE FROM named WHERE name = ?", name)
	return err
}

func TestMySQLFolders(t *testing.T) {
	server := hastyMariaDB(t)
	adopttest.RunFolders(t, func(t *testing.T) adopttest.FolderSite {
		n := newMySQLNameSite(t, server)
		rows, err := n.db.Folders(t.Context(), "folders", adopt.Collection{Folders: &adopt.FolderSpec{Live: adopt.LiveSpec{Table: "named", Name: "{name}"}}})
		if err != nil {
			t.Fatal(err)
		}
		return adopttest.FolderSite{FolderRows: rows, Holder: rows, App: n}
	})
}

func TestMySQLKeys(t *testing.T) {
	server := hastyMariaDB(t)
	adopttest.RunKeys(t, func(t *testing.T) adopttest.KeySite {
		n := newMySQLNameSite(t, server)
		rows, err := n.db.Keys(t.Context(), "keys", adopt.Collection{Keys: &adopt.KeySpec{Query: "SELECT name FROM named"}})
		if err != nil {
			t.Fatal(err)
		}
		return adopttest.KeySite{KeyRows: rows, Holder: rows, App: n}
	})
}

func TestMySQLRuns(t *testing.T) {
	server := hastyMariaDB(t)
	adopttest.RunRuns(t, func(t *testing.T) adopttest.RunSite {
		s := newMySQLSite(t, server.Database(t), mysqlKind{})
		return adopttest.RunSite{Runs: s.db, Pass: s.Pass}
	})
}

// mysqlKind is the form of an application's tables.
type mysqlKind struct {
	adopttest.Variant
	key       string // type of the keys of contents
	named     string // type of the columns that name them, if it is another
	times     string // type of the columns of times
	loose     bool   // no foreign key
	isolation sql.IsolationLevel
}

// mysqlSite is an application on MariaDB, and its collection.
type mysqlSite struct {
	*Collection
	t    *testing.T
	kind mysqlKind
	pool *sql.DB
	url  string
	// passed is how far the clock is ahead; begin is the text that begins the
	// collection's transactions.
	passed time.Duration
	begin  beginnings
}

func (k mysqlKind) tables() []string {
	if k.key == "" {
		k.key = "VARCHAR(64)"
	}
	if k.times == "" {
		k.times = "DATETIME(6) NULL"
	}
	reference := ", FOREIGN KEY (hash) REFERENCES content (hash)"
	if k.loose {
		reference = ""
	}
	stamp := k.times
	if k.Seconds {
		stamp = "DATETIME NULL"
	}
	count := "ref_count BIGINT NOT NULL CHECK (ref_count >= 0)"
	if k.Uncounted {
		count = "made BOOLEAN"
	}
	pins := "CREATE TABLE pins (code VARCHAR(50), FOREIGN KEY (code) REFERENCES pastes (code))"
	if k.Shared {
		pins = fmt.Sprintf("CREATE TABLE pins (code %s, FOREIGN KEY (code) REFERENCES content (hash))", k.key)
	}
	return []string{
		fmt.Sprintf("CREATE TABLE content (hash %s NOT NULL PRIMARY KEY, %s)", k.key, count),
		fmt.Sprintf(`CREATE TABLE pastes (
			code VARCHAR(50) PRIMARY KEY, hash %s NULL, expires_at %s,
			status VARCHAR(20) NOT NULL DEFAULT 'NOT_EXPIRED' CHECK (status IN ('NOT_EXPIRED', 'DELETION_IN_PROGRESS', 'DELETED')),
			initiated_at %s%s)`, cmp.Or(k.named, k.key), k.times, stamp, reference),
		pins,
	}
}

func (k mysqlKind) description() adopt.Collection {
	c := kind{Variant: k.Variant}.description()
	c.Rows.Zone = "UTC"
	return c
}

func newMySQLPool(t *testing.T, address string) *sql.DB {
	t.Helper()
	pool, err := sqldb.OpenMySQL(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	return pool
}

func newMySQLSite(t *testing.T, address string, k mysqlKind) *mysqlSite {
	t.Helper()
	s := &mysqlSite{t: t, kind: k, pool: newMySQLPool(t, address), url: address}
	for _, text := range k.tables() {
		s.must(text)
	}
	s.Collection = s.open(k.description())
	return s
}

// must runs a statement of the application.
func (s *mysqlSite) must(text string, args ...any) {
	s.t.Helper()
	if _, err := s.pool.ExecContext(s.t.Context(), text, args...); err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
}

// database opens the database.
func (s *mysqlSite) database() *DB {
	s.t.Helper()
	db, err := Open(s.t.Context(), s.url, Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = db.Close() })
	return db
}

// collection opens a collection with Lethe's tables.
func (s *mysqlSite) collection(d adopt.Collection) *Collection {
	s.t.Helper()
	db := s.database()
	if err := db.Install(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	c, err := db.Collection(s.t.Context(), "pastes", d)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// open opens a collection with Lethe's tables and its guard.
func (s *mysqlSite) open(d adopt.Collection) *Collection {
	t := s.t
	t.Helper()
	c := s.collection(d)
	if d.Guard != adopt.TriggerGuard {
		return c
	}
	if err := c.InstallGuard(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// Pass implements adopttest.Application: it sets the time that the database's
// transactions get.
func (s *mysqlSite) Pass(d time.Duration) {
	if s.begin == (beginnings{}) {
		s.begin = s.db.begin
	}
	s.passed += d
	later := func(text string) string { return strings.Replace(text, "SYSDATE(6)", s.now(), 1) }
	s.db.begin = beginnings{later(s.begin.write), later(s.begin.read)}
}

func (s *mysqlSite) now() string {
	return fmt.Sprintf("(SYSDATE(6) + INTERVAL %d MICROSECOND)", s.passed.Microseconds())
}

// do runs a transaction of the application.
func (s *mysqlSite) do(ctx context.Context, fn func(tx *sql.Tx) error) error {
	tx, err := s.pool.BeginTx(ctx, &sql.TxOptions{Isolation: s.kind.isolation})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := fn(tx); err != nil {
		if refused := refusedByMySQL(err); refused != nil {
			return fmt.Errorf("%w: %w", adopttest.ErrRefused, refused)
		}
		return err
	}
	return tx.Commit()
}

// refusedByMySQL returns the error if it is the guard's.
func refusedByMySQL(err error) *driver.MySQLError {
	if refused := new(driver.MySQLError); errors.As(err, &refused) && refused.Number == 1205 && string(refused.SQLState[:]) == "40001" {
		return refused
	}
	return nil
}

// run runs a statement that has to find a row.
func (s *mysqlSite) run(ctx context.Context, tx *sql.Tx, query string, args ...any) error {
	res, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, fmt.Errorf("no row was changed by %s", query))
	}
	return nil
}

// end returns the expression of an end.
func (s *mysqlSite) end(in time.Duration) string {
	if in == adopttest.Never {
		return "NULL"
	}
	return fmt.Sprintf("%s + INTERVAL %d MICROSECOND", s.now(), in.Microseconds())
}

func (s *mysqlSite) take(ctx context.Context, tx *sql.Tx, content string) error {
	if s.kind.Uncounted {
		return s.run(ctx, tx, "INSERT INTO content (hash) VALUES (?) ON DUPLICATE KEY UPDATE made = made", content)
	}
	return s.run(ctx, tx, "INSERT INTO content VALUES (?, 1) ON DUPLICATE KEY UPDATE ref_count = ref_count + 1", content)
}

func (s *mysqlSite) release(ctx context.Context, tx *sql.Tx, content string) error {
	if s.kind.Uncounted {
		return nil
	}
	return s.run(ctx, tx, "UPDATE content SET ref_count = ref_count - 1 WHERE hash = ?", content)
}

// Put implements adopttest.Writer.
func (s *mysqlSite) Put(ctx context.Context, r adopttest.Row) error {
	return s.do(ctx, func(tx *sql.Tx) error {
		if err := s.take(ctx, tx, r.Content); err != nil {
			return err
		}
		return s.insert(ctx, tx, r)
	})
}

func (s *mysqlSite) insert(ctx context.Context, tx *sql.Tx, r adopttest.Row) error {
	return s.run(ctx, tx, "INSERT INTO pastes (code, hash, expires_at) VALUES (?, ?, "+s.end(r.In)+")", r.Key, r.Content)
}

// Extend implements adopttest.Writer.
func (s *mysqlSite) Extend(ctx context.Context, key string, in time.Duration) error {
	return s.do(ctx, func(tx *sql.Tx) error {
		return s.run(ctx, tx, "UPDATE pastes SET expires_at = "+s.end(in)+" WHERE code = ?", key)
	})
}

// Replace implements adopttest.Writer.
func (s *mysqlSite) Replace(ctx context.Context, key, content string) error {
	return s.do(ctx, func(tx *sql.Tx) error {
		var old string
		if err := tx.QueryRowContext(ctx, "SELECT hash FROM pastes WHERE code = ? FOR UPDATE", key).Scan(&old); err != nil {
			return err
		}
		if err := s.take(ctx, tx, content); err != nil {
			return err
		}
		if err := s.release(ctx, tx, old); err != nil {
			return err
		}
		return s.run(ctx, tx, "UPDATE pastes SET hash = ? WHERE code = ?", content, key)
	})
}

// Delete implements adopttest.Writer.
func (s *mysqlSite) Delete(ctx context.Context, key string) error {
	return s.do(ctx, func(tx *sql.Tx) error {
		var content string
		if err := tx.QueryRowContext(ctx, "SELECT hash FROM pastes WHERE code = ? FOR UPDATE", key).Scan(&content); err != nil {
			return err
		}
		if err := s.run(ctx, tx, "DELETE FROM pastes WHERE code = ?", key); err != nil {
			return err
		}
		return s.release(ctx, tx, content)
	})
}

// past bypasses triggers: they are removed temporarily, and restored unchanged.
func (s *mysqlSite) past(ctx context.Context, fn func(tx *sql.Tx) error) (err error) {
	if s.c.Guard != adopt.TriggerGuard {
		return s.do(ctx, fn)
	}
	err = s.Collection.write(ctx, "go past the guard", func(t *tx) error {
		list, err := t.installed(s.db.engine, s.name)
		return errors.Join(err, t.drop(list))
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.InstallGuard(ctx)) }()
	return s.do(ctx, fn)
}

// Refer implements adopttest.Meddler.
func (s *mysqlSite) Refer(ctx context.Context, r adopttest.Row) error {
	return s.past(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "SET foreign_key_checks = 0"); err != nil {
			return err
		}
		return errors.Join(s.insert(ctx, tx, r), func() error { _, err := tx.ExecContext(ctx, "SET foreign_key_checks = 1"); return err }())
	})
}

// SetCount implements adopttest.Meddler.
func (s *mysqlSite) SetCount(ctx context.Context, content string, n int64) error {
	return s.past(ctx, func(tx *sql.Tx) error {
		return s.run(ctx, tx, "INSERT INTO content VALUES (?, ?) ON DUPLICATE KEY UPDATE ref_count = VALUES(ref_count)", content, n)
	})
}

// Forget implements adopttest.Meddler.
func (s *mysqlSite) Forget(ctx context.Context, content string) error {
	return s.past(ctx, func(tx *sql.Tx) error { return s.run(ctx, tx, "DELETE FROM content WHERE hash = ?", content) })
}

// Pin implements adopttest.Meddler.
func (s *mysqlSite) Pin(ctx context.Context, key string, pinned bool) error {
	statement := "DELETE FROM pins WHERE code = ?"
	if pinned {
		statement = "INSERT INTO pins VALUES (?)"
	}
	_, err := s.pool.ExecContext(ctx, statement, key)
	return err
}

// Lock implements adopttest.Meddler.
func (s *mysqlSite) Lock(ctx context.Context, content string) (unlock func(), err error) {
	tx, err := s.pool.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	_, err = tx.ExecContext(ctx, "SELECT 1 FROM content WHERE hash = ? FOR UPDATE", content)
	return func() { _ = tx.Rollback() }, err
}

// State implements adopttest.Viewer.
func (s *mysqlSite) State(ctx context.Context, key string) (adopttest.State, error) {
	return stateOf(key, s.pool.QueryRowContext(ctx, "SELECT status, hash FROM pastes WHERE code = ?", key).Scan)
}

// Count implements adopttest.Viewer.
func (s *mysqlSite) Count(ctx context.Context, content string) (n int64, there bool, err error) {
	column := "ref_count"
	if s.kind.Uncounted {
		column = "0"
	}
	return countOf(s.pool.QueryRowContext(ctx, "SELECT "+column+" FROM content WHERE hash = ?", content).Scan)
}
