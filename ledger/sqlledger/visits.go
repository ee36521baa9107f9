package sqlledger

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"

	"github.com/lethe-storage/lethe/internal/sqldb"
)

// PagesVisited returns how many pages of the file the writing connection has read since the
// ledger was opened, cached or not: the cost of the statements, independent of the machine's
// load. SQLite does not count rows. On PostgreSQL, which does, it returns
// errors.ErrUnsupported.
func (db *DB) PagesVisited(ctx context.Context) (n int64, err error) {
	if db.file == nil {
		return 0, fmt.Errorf("ledger: pages visited: PostgreSQL counts rows itself (pg_stat_user_tables): %w", errors.ErrUnsupported)
	}
	err = db.batch(ctx, "count pages", func(t *tx) (err error) {
		n, err = visited(t.s)
		return err
	})
	return n, err
}

// visited adds the connection's cache hits and misses.
func visited(s *sqldb.Session) (n int64, err error) {
	err = s.Conn.Raw(func(conn any) error {
		status, ok := conn.(sqlite.DBStatus)
		if !ok {
			return errors.ErrUnsupported
		}
		for _, op := range []sqlite.DBStatusOp{sqlite.DBStatusCacheHit, sqlite.DBStatusCacheMiss} {
			some, _, err := status.Status(op, false)
			if err != nil {
				return err
			}
			n += int64(some)
		}
		return nil
	})
	return n, err
}
