package meta

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lethe-storage/lethe/internal/sqldb"
)

// minPostgres is the oldest version that is tested, as the server counts.
const minPostgres = 14_00_00

// serverFacts are what is found out before the pools are made.
type serverFacts struct {
	pooled   bool // by a pooler in transaction mode
	careless bool // it would acknowledge a commit before it is durable
}

// probe looks at the server: first with the settings of a session, which a pooler
// refuses or forgets.
func (e *server) probe(ctx context.Context, config *pgx.ConnConfig) (facts serverFacts, err error) {
	if e.o.Pooler != PoolerBetween {
		c := config.Copy()
		c.RuntimeParams["search_path"] = quoted(e.o.Schema)
		facts, err = e.ask(ctx, c)
		if err == nil && !facts.pooled || e.o.Pooler == PoolerNone || !refusesSettings(err) && !facts.pooled {
			facts.pooled = false
			return facts, err
		}
	}
	facts, err = e.ask(ctx, config)
	facts.pooled = true
	return facts, err
}

// refusesSettings says that a pooler in between does not take the settings that a
// connection begins with.
func refusesSettings(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && strings.Contains(e.Message, "startup parameter")
}

// ask connects once and reads what matters. It finds a pooler by a setting that
// got lost.
func (e *server) ask(ctx context.Context, config *pgx.ConnConfig) (facts serverFacts, err error) {
	c := config.Copy()
	c.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		if refusesSettings(err) {
			return facts, err
		}
		return facts, sqldb.Unreachable(err)
	}
	defer conn.Close(ctx)
	var version int
	var encoding, sync, path string
	var standby bool
	err = conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),
		current_setting('synchronous_commit'), current_setting('search_path'), pg_is_in_recovery()`).
		Scan(&version, &encoding, &sync, &path, &standby)
	if err != nil {
		return facts, sqldb.Unreachable(err)
	}
	switch {
	case version < minPostgres:
		return facts, fmt.Errorf("PostgreSQL is of version %d: at least %d is needed", version/10000, minPostgres/10000)
	case encoding != "UTF8":
		return facts, fmt.Errorf("the database is encoded in %s: make one with ENCODING 'UTF8'", encoding)
	case standby:
		return facts, fmt.Errorf("this PostgreSQL is a standby: give the URL of the primary (or several hosts and target_session_attrs=read-write)")
	}
	facts.careless = sync == "off"
	want, set := config.RuntimeParams["search_path"]
	facts.pooled = set && path != want
	return facts, nil
}
