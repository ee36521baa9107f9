package engine

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe/internal/sqldb"
)

// serverFacts are read before the pools are created.
type serverFacts struct {
	pooled   bool // behind a pooler in transaction mode
	careless bool // acknowledges a commit before it is durable
}

// probe reads facts of the server.
func (p *Server) probe(ctx context.Context, config *pgx.ConnConfig) (facts serverFacts, err error) {
	facts.pooled = p.o.Pooler == PoolerBetween
	if p.o.Pooler == PoolerDetected {
		if facts.pooled, err = sqldb.Pooled(ctx, config); err != nil {
			return facts, err
		}
	}
	c := config.Copy()
	c.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return facts, sqldb.Unreachable(err)
	}
	defer conn.Close(ctx)
	var version int
	var encoding, sync string
	var standby bool
	err = conn.QueryRow(ctx, `SELECT `+sqldb.PostgresState+`, current_setting('server_encoding'),
		current_setting('synchronous_commit')`).
		Scan(&version, &standby, &encoding, &sync)
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
	return facts, nil
}
