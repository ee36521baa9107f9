package sqlledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
)

// Understood returns ErrOutdated if this program does not support the ledger's schema any
// more, which another instance may have migrated. A SQLite ledger has one process, and is
// checked when it is opened.
func (db *DB) Understood(ctx context.Context) error {
	if db.engine.Server == nil {
		return nil
	}
	return db.read(ctx, "schema version", func(t *tx) error { return t.Understood() })
}

// Vacuum returns up to pages unused pages of the file to the disk, in small steps between
// which others write. It keeps an eighth of the pages in use as slack. It returns how many
// it freed; fewer than asked for means that no more are free. PostgreSQL does this itself
// (autovacuum): errors.ErrUnsupported.
func (db *DB) Vacuum(ctx context.Context, pages int) (freed int, err error) {
	for freed < pages {
		var step int
		err := db.batch(ctx, "vacuum", func(t *tx) (err error) {
			step, err = t.Vacuum(pages)
			return err
		})
		if err != nil || step <= 0 {
			return freed, err
		}
		freed += step
	}
	return freed, nil
}

// PagesVisited returns how many pages of the file the writing connection has read since the
// ledger was opened, cached or not: the cost of the statements, independent of the machine's
// load. SQLite does not count rows. On PostgreSQL, which does, it returns
// errors.ErrUnsupported.
func (db *DB) PagesVisited(ctx context.Context) (n int64, err error) {
	err = db.batch(ctx, "count pages", func(t *tx) (err error) {
		n, err = t.PagesVisited()
		return err
	})
	return n, err
}

// Backup writes a consistent copy of the ledger to path while the ledger is in use. The copy
// is the state of one instant, and is checked before the file gets its name. It has mode
// 0600, as it holds the secrets of access keys. Backup fails if path exists.
func (db *DB) Backup(ctx context.Context, path string) error {
	if err := db.engine.Backup(ctx, path); err != nil {
		return fmt.Errorf("ledger: back up the ledger to %s: %w", path, err)
	}
	return nil
}

// CheckFile checks a copy of a ledger that no process has open: that it is a ledger, and
// that its pages, indexes and references are sound. ErrCorrupt if not.
func CheckFile(ctx context.Context, path string) error { return engine.CheckFile(ctx, path) }

// CopyFile writes the ledger in a file to another, with the commits that a crash left in the log
// beside it. It replaces what has the name.
func CopyFile(ctx context.Context, from, to string) error {
	if err := engine.CopyFile(ctx, from, to); err != nil {
		return fmt.Errorf("ledger: copy %s: %w", from, err)
	}
	return nil
}

// FileTotals returns the number and bytes of the objects of a ledger that no process has
// open.
func FileTotals(ctx context.Context, path string) (objects, bytes int64, err error) {
	pool, err := engine.OpenCopy(path)
	if err != nil {
		return 0, 0, err
	}
	err = pool.QueryRowContext(ctx, "SELECT coalesce(sum(n), 0), coalesce(sum(bytes), 0) FROM bucket_counters").Scan(&objects, &bytes)
	return objects, bytes, errors.Join(sqldb.MapError(err), pool.Close())
}
