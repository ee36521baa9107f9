package sqlledger

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"

	"github.com/lethe-storage/lethe/internal/sqldb"
)

// PagesVisited is how many pages of the file its one writing connection has looked
// at since the ledger was opened, found in its cache or not: what the statements
// cost, whatever the machine does meanwhile. SQLite counts no rows. A ledger on
// PostgreSQL, which counts them itself, answers errors.ErrUnsupported.
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

// visited adds up what the connection found in its cache and what it did not.
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
