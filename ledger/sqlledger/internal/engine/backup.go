package engine

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
)

// Backup writes a consistent copy of the ledger to path while the ledger is in use. The copy
// is the state of one instant, and is checked before the file gets its name. It has mode
// 0600. Backup fails if path exists. PostgreSQL: errors.ErrUnsupported.
func (e *Engine) Backup(ctx context.Context, path string) error {
	if e.File == nil {
		return fmt.Errorf("%w for a ledger in PostgreSQL: use pg_dump --schema=%s, or a base backup with the log of writes",
			errors.ErrUnsupported, e.Server.o.Schema)
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%w: choose another name or remove it", os.ErrExist)
	}
	partial := path + ".partial"
	if err := makeEmpty(partial); err != nil {
		return err
	}
	err := e.File.copyTo(ctx, partial)
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
func (f *File) copyTo(ctx context.Context, path string) error {
	s, err := f.session(ctx, nil)
	if err != nil {
		return err
	}
	if f.path == Memory {
		f.r.memory.RLock()
		defer f.r.memory.RUnlock()
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
	pool, err := OpenCopy(path)
	if err != nil {
		return err
	}
	return errors.Join(checkPool(ctx, pool), pool.Close())
}

// CopyFile writes the ledger in a file to another, of mode 0600, with the commits that a crash
// left in the log beside it.
func CopyFile(ctx context.Context, from, to string) error {
	if err := makeEmpty(to); err != nil {
		return err
	}
	pool, err := OpenCopy(from)
	if err != nil {
		return err
	}
	_, err = pool.ExecContext(ctx, "VACUUM INTO ?", to)
	if err = errors.Join(sqldb.MapError(err), pool.Close()); err != nil {
		return err
	}
	return syncFile(to)
}

// OpenCopy opens a copy of a ledger read-only.
func OpenCopy(path string) (*sql.DB, error) {
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
