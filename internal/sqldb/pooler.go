package sqldb

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// sessionSetting is a setting of no meaning. A pooler in transaction mode refuses connections
// that begin with one that it does not know, or drops it.
const sessionSetting = "lethe.session"

// Pooled connects once, and reports whether a pooler in transaction mode, such as pgbouncer, is
// between this process and PostgreSQL. With one there are no prepared statements, and no
// settings that outlive a transaction.
func Pooled(ctx context.Context, config *pgx.ConnConfig) (bool, error) {
	c := config.Copy()
	c.RuntimeParams[sessionSetting] = "1"
	c.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		if refusesSettings(err) {
			return true, nil
		}
		return false, Unreachable(err)
	}
	defer conn.Close(ctx)
	var kept bool
	if err := conn.QueryRow(ctx, "SELECT current_setting($1, TRUE) IS NOT DISTINCT FROM '1'", sessionSetting).Scan(&kept); err != nil {
		return false, Unreachable(err)
	}
	return !kept, nil
}

// refusesSettings reports whether a pooler refuses the settings that a connection begins
// with.
func refusesSettings(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && strings.Contains(e.Message, "startup parameter")
}
