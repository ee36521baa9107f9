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
	// otherSessions are the ones that may still have something to add: each does when it
	// ends. Those that watch have not.
	otherSessions = `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND backend_type = 'client backend' AND application_name <> '` + watcher + `'`
	watcher = "lethe-bench watches"
)

// connect is a session that watches.
func connect(ctx context.Context, url string) (*pgx.Conn, error) {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	c.RuntimeParams["application_name"] = watcher
	return pgx.ConnectConfig(ctx, c)
}

// rowsRead is how many rows the sessions of a database have read since it was made,
// when all of them have ended.
func rowsRead(ctx context.Context, url string) (n int64, err error) {
	conn, err := connect(ctx, url)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	if err := alone(ctx, conn); err != nil {
		return 0, err
	}
	return n, conn.QueryRow(ctx, readRows).Scan(&n)
}

// alone waits until no other session is at the database.
func alone(ctx context.Context, conn *pgx.Conn) error {
	for {
		others := 0
		if err := conn.QueryRow(ctx, otherSessions).Scan(&others); err != nil || others == 0 {
			return err
		}
		<-time.After(10 * time.Millisecond)
	}
}
