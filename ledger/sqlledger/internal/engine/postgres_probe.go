package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lethe-storage/lethe/internal/sqldb"
)

// serverFacts are read before the pools are created.
type serverFacts struct {
	pooled   bool // behind a pooler in transaction mode
	careless bool // acknowledges a commit before it is durable
}

// probe reads facts of the server. It first tries with session settings, which a pooler
// refuses or drops.
func (p *Server) probe(ctx context.Context, config *pgx.ConnConfig) (facts serverFacts, err error) {
	if p.o.Pooler != PoolerBetween {
		c := config.Copy()
		c.RuntimeParams["search_path"] = sqldb.Quoted(p.o.Schema)
		facts, err = p.ask(ctx, c)
		if err == nil && !facts.pooled || p.o.Pooler == PoolerNone || !refusesSettings(err) && !facts.pooled {
			facts.pooled = false
			return facts, err
		}
	}
	facts, err = p.ask(ctx, config)
	facts.pooled = true
	return facts, err
}

// refusesSettings reports whether a pooler refuses the settings that a connection begins
// with.
func refusesSettings(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && strings.Contains(e.Message, "startup parameter")
}

// ask connects once and reads the facts. A setting that was dropped reveals a pooler.
func (p *Server) ask(ctx context.Context, config *pgx.ConnConfig) (facts serverFacts, err error) {
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
	err = conn.QueryRow(ctx, `SELECT `+sqldb.PostgresState+`, current_setting('server_encoding'),
		current_setting('synchronous_commit'), current_setting('search_path')`).
		Scan(&version, &standby, &encoding, &sync, &path)
	if err != nil {
		return facts, sqldb.Unreachable(err)
	}
	if err := sqldb.CheckPostgres(version, standby); err != nil {
		return facts, err
	}
	if encoding != "UTF8" {
		return facts, fmt.Errorf("the database is encoded in %s: make one with ENCODING 'UTF8'", encoding)
	}
	facts.careless = sync == "off"
	want, set := config.RuntimeParams["search_path"]
	facts.pooled = set && path != want
	return facts, nil
}
