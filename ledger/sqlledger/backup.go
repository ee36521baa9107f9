package sqlledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

// Restored is the reason for which Accept holds the deletes on all backends.
const Restored = "restored"

var renameStore = register(`UPDATE store SET db = ?1 WHERE one = 1`)

// Backup writes a consistent copy of the ledger to path while the ledger is in use. The copy
// is the state of one instant, and is checked before the file gets its name. It has mode
// 0600, as it holds the secrets of access keys. Backup fails if path exists.
func (db *DB) Backup(ctx context.Context, path string) error {
	if err := db.backup(ctx, path); err != nil {
		return fmt.Errorf("ledger: back up the ledger to %s: %w", path, err)
	}
	return nil
}

func (db *DB) backup(ctx context.Context, path string) error {
	if db.file == nil {
		return fmt.Errorf("%w for a ledger in PostgreSQL: use pg_dump --schema=%s, or a base backup with the log of writes",
			errors.ErrUnsupported, db.pg.o.Schema)
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%w: choose another name or remove it", os.ErrExist)
	}
	partial := path + ".partial"
	if err := makeEmpty(partial); err != nil {
		return err
	}
	err := db.copyTo(ctx, partial)
	if err == nil {
		err = CheckFile(ctx, partial)
	}
	if err == nil {
		err = syncFile(partial)
	}
	if err == nil {
		err = os.Rename(partial, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(partial))
	}
	return syncFile(filepath.Dir(path))
}

// makeEmpty creates the file for the copy with its final mode. It replaces what a failed
// backup left under the name.
func makeEmpty(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// copyTo copies over a connection of its own: readers cannot write, and a long copy must not
// block the writer.
func (db *DB) copyTo(ctx context.Context, path string) error {
	s, err := db.session(ctx, nil)
	if err != nil {
		return err
	}
	if db.path == Memory {
		db.r.memory.RLock()
		defer db.r.memory.RUnlock()
	}
	_, err = s.Conn.ExecContext(ctx, "VACUUM INTO ?", path)
	return errors.Join(sqldb.MapError(err), s.Close())
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// CheckFile checks a copy of a ledger that no process has open: that it is a ledger, and
// that its pages, indexes and references are sound. ErrCorrupt if not.
func CheckFile(ctx context.Context, path string) error {
	pool, err := openFile(path)
	if err != nil {
		return err
	}
	return errors.Join(checkPool(ctx, pool), pool.Close())
}

// FileTotals returns the number and bytes of the objects of a ledger that no process has
// open.
func FileTotals(ctx context.Context, path string) (objects, bytes int64, err error) {
	pool, err := openFile(path)
	if err != nil {
		return 0, 0, err
	}
	err = pool.QueryRowContext(ctx, "SELECT coalesce(sum(n), 0), coalesce(sum(bytes), 0) FROM bucket_counters").Scan(&objects, &bytes)
	return objects, bytes, errors.Join(sqldb.MapError(err), pool.Close())
}

// openFile opens a ledger read-only.
func openFile(path string) (*sql.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(abs); err != nil {
		return nil, err
	}
	return sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(abs)}).String()+"?mode=ro")
}

func checkPool(ctx context.Context, pool *sql.DB) error {
	var app int
	if err := pool.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return sqldb.MapError(err)
	}
	if app != application {
		return fmt.Errorf("the file is not a ledger of lethe: %w", lethe.ErrCorrupt)
	}
	var verdict string
	if err := pool.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict); err != nil {
		return sqldb.MapError(err)
	}
	if verdict != "ok" {
		return fmt.Errorf("integrity check: %s: %w", verdict, lethe.ErrCorrupt)
	}
	var table string
	err := pool.QueryRowContext(ctx, `SELECT "table" FROM pragma_foreign_key_check LIMIT 1`).Scan(&table)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return sqldb.MapError(err)
	}
	return fmt.Errorf("a row of %s refers to a row that is missing: %w", table, lethe.ErrCorrupt)
}

// Accept prepares a restored copy of a ledger for use. It checks the file, gives the
// database a new identity, and holds the deletes on all backends as Restored until a person
// decides (docs/protocol.md, rule 13): the backends may be newer than the copy. No process
// may have the file open. It returns the store's new identity.
func Accept(ctx context.Context, path string, o ledger.Options) (ledger.Store, error) {
	if err := CheckFile(ctx, path); err != nil {
		return ledger.Store{}, fmt.Errorf("ledger: accept ledger %s: %w", path, err)
	}
	// The file will move to another name; a ballast beside it would stay behind.
	db, err := Open(ctx, path, o, Ballast(-1))
	if err != nil {
		return ledger.Store{}, err
	}
	return db.accept(ctx)
}

// AcceptPostgres is Accept for a ledger restored into the PostgreSQL database at url. No
// process may be using it.
func AcceptPostgres(ctx context.Context, url string, o ledger.Options, set ...Setting) (ledger.Store, error) {
	db, err := openPostgres(ctx, url, o, settingsOf(set), true)
	if err != nil {
		return ledger.Store{}, err
	}
	return db.accept(ctx)
}

// accept gives the ledger a new identity, holds all deletes, and closes it.
func (db *DB) accept(ctx context.Context) (ledger.Store, error) {
	err := db.write(ctx, "accept the ledger", func(t *tx) error {
		return t.anew(Restored)
	})
	if err != nil {
		return ledger.Store{}, errors.Join(err, db.Close())
	}
	s, err := db.Identity(ctx)
	return s, errors.Join(err, db.Close())
}
