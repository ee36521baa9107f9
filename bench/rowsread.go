package bench

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// readRows are the rows of tables that were read one after the other, and the
	// entries that indexes gave.
	readRows = `SELECT coalesce((SELECT sum(seq_tup_read) FROM pg_stat_user_tables), 0)::bigint
		+ coalesce((SELECT sum(idx_tup_read) FROM pg_stat_user_indexes), 0)::bigint`
	// otherSessions are those that may still have something to add: each does when it
	// ends.
	otherSessions = `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`
)

// rowsRead is how many rows the sessions of a database have read since it was made,
// when all of them have ended.
func rowsRead(ctx context.Context, url string) (n int64, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	for others := 1; others > 0; {
		if err := conn.QueryRow(ctx, otherSessions).Scan(&others); err != nil {
			return 0, err
		}
		if others > 0 {
			<-time.After(10 * time.Millisecond)
		}
	}
	return n, conn.QueryRow(ctx, readRows).Scan(&n)
}
