package sqladopt

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// postgres is PostgreSQL, the reference for the other databases.
type postgres struct{ o Options }

// planTime is how long a connection keeps its plans, which were made for tables as large as they
// were then.
const planTime = time.Minute

func (p postgres) pool(ctx context.Context, url string) (*sql.DB, error) {
	config, err := sqldb.PostgresConfig(url, "lethe adopt")
	if err != nil {
		return nil, err
	}
	pooled, err := sqldb.Pooled(ctx, config)
	if err != nil {
		return nil, err
	}
	if pooled {
		config.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	pool := sqldb.OpenPostgres(config)
	pool.SetConnMaxLifetime(planTime)
	return pool, nil
}

func (p postgres) beginnings() (write, read string) {
	ms := func(d time.Duration) string { return strconv.FormatInt(max(1, d.Milliseconds()), 10) }
	settings := "; SET LOCAL lock_timeout = " + ms(p.o.LockTime) +
		"; SET LOCAL statement_timeout = " + ms(p.o.StatementTime) +
		"; SET LOCAL idle_in_transaction_session_timeout = " + ms(p.o.StatementTime) +
		"; SET LOCAL jit = off" +
		// A policy that hides rows is an error: what they refer to would look
		// unused.
		"; SET LOCAL row_security = off" +
		"; SET LOCAL bytea_output = hex" + // as the guard writes keys
		"; SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)"
	// What a mark allows cannot be undone by a crash, as the mark itself could.
	durable := "; SELECT set_config('synchronous_commit', 'on', TRUE) WHERE current_setting('synchronous_commit') = 'off'"
	return "BEGIN ISOLATION LEVEL READ COMMITTED" + durable + settings, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" + settings
}

// probe refuses a standby: a replica's data is never trusted.
func (p postgres) probe(t *tx) error {
	var version int
	var standby bool
	if err := t.row("SELECT "+sqldb.PostgresState).Scan(&version, &standby); err != nil {
		return err
	}
	return sqldb.CheckPostgres(version, standby)
}

func (postgres) remarks(t *tx) ([]adopt.Finding, error) {
	var encoding string
	if err := t.row("SELECT current_setting('server_encoding')").Scan(&encoding); err != nil || encoding == "UTF8" || encoding == "SQL_ASCII" {
		return nil, err
	}
	return []adopt.Finding{{What: fmt.Sprintf("the database is encoded in %s: one object whose name has a character that it lacks stops its collection", encoding),
		Do: "rename such objects, or move to a database with ENCODING 'UTF8'"}}, nil
}

// relax saves the wait for a flush of the log, which holds up the application's as well.
func (postgres) relax(t *tx) error {
	_, err := t.s.Queue("SET LOCAL synchronous_commit = off", nil)
	return err
}

func (postgres) allow(t *tx, d time.Duration) error {
	return t.script("SET LOCAL statement_timeout = " + strconv.FormatInt(d.Milliseconds(), 10))
}

func (postgres) undefer() string { return "SET CONSTRAINTS ALL IMMEDIATE" }

func (p postgres) dialect(w words) sqldb.Dialect {
	d := sqldb.Postgres(w.with(words{
		"{for update}": "FOR UPDATE", "{binary}": `COLLATE "C"`, "{number of id}": "CAST(id AS BIGINT)",
		"{lethe}": p.schema() + ".", "{schema}": p.schema(), "{create schema}": p.createSchema(), "{index}": "", "{object index}": "",
		"{key text}": `text COLLATE "C"`, "{held key}": `"key" COLLATE "default"`, "{bytes}": "bytea", "{identity}": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
	}))
	d.Own = ownTables(p.o.Schema + ".")
	return d
}

// schema returns the name of the schema of Lethe's tables.
func (p postgres) schema() string { return sqldb.Quoted(p.o.Schema) }

// createSchema needs the right to create schemas only if there is one to
// create.
func (p postgres) createSchema() string {
	return "DO $$ BEGIN IF to_regnamespace(" + sqldb.Literal(p.schema()) + ") IS NULL THEN CREATE SCHEMA " + p.schema() + "; END IF; END $$;"
}

func (postgres) text(expression string, c column) string {
	text := "CAST(" + expression + " AS TEXT)"
	if c.folding {
		text += ` COLLATE "C"`
	}
	return text
}

func (postgres) value(expression string, c column) string {
	return "CAST(" + expression + " AS " + c.kind + ")"
}

// precision matches that of a type of times.
var precision = regexp.MustCompile(`\(\d+(,\d+)?\)`)

func (postgres) instants(_ *tx, _ string, c column, r adopt.Rows) (instants, error) {
	var (
		since  = around{"(TIMESTAMPTZ 'epoch' + CAST(", " AS BIGINT) * INTERVAL '1 microsecond')"}
		micros = around{"CAST(extract(epoch FROM greatest(", ", TIMESTAMPTZ 'epoch')) * 1000000 AS BIGINT)"}
		i      = instants{at: since, micros: micros}
	)
	switch kind := precision.ReplaceAllString(c.kind, ""); kind {
	case "timestamp with time zone":
	case "timestamp without time zone", "date":
		if r.Zone == "" {
			return i, fmt.Errorf("column %s is a %s: say in which time zone it is (zone: UTC)", c.name, c.kind)
		}
		in := " AT TIME ZONE " + sqldb.Literal(r.Zone)
		if adopt.ZoneOffset.MatchString(r.Zone) { // as a name it would be west of UTC
			in = " AT TIME ZONE INTERVAL " + sqldb.Literal(r.Zone)
		}
		i.at = around{"CAST(" + since.open, since.close + in + " AS " + kind + ")"}
		i.micros = around{micros.open + "CAST(", " AS TIMESTAMP)" + in + micros.close}
	case "bigint", "integer", "numeric", "double precision":
		per, err := perUnit(c, r.Unit)
		if err != nil {
			return i, err
		}
		i.at, i.micros = around{"(CAST(", " AS BIGINT) / " + per + ")"}, around{"CAST(CAST(", " AS NUMERIC) * " + per + " AS BIGINT)"}
	default:
		return i, fmt.Errorf("column %s is of type %s, which is no time: it has to be a timestamp, a date, or a number with a unit", c.name, c.kind)
	}
	i.stamp = around{"CAST(" + i.at.open, i.at.close + " AS " + c.kind + ")"}
	return i, nil
}

func (postgres) index(table, columns, where string) string {
	return "CREATE INDEX CONCURRENTLY ON " + table + " (" + columns + ")" + where
}

func (postgres) claimColumns(of adopt.TableInfo, end string) []string {
	table, end := adopt.Identifier(strings.Split(of.Name, ".")...), adopt.Identifier(end)
	index := "CREATE INDEX CONCURRENTLY ON "
	if of.Parted {
		index = "CREATE INDEX ON "
	}
	return []string{
		"ALTER TABLE " + table + " ADD COLUMN deletion_status varchar(20) NOT NULL DEFAULT 'NOT_EXPIRED'",
		"    CHECK (deletion_status IN ('NOT_EXPIRED', 'DELETION_IN_PROGRESS', 'DELETED')),",
		"    ADD COLUMN deletion_initiated_at timestamptz NULL;",
		index + table + " (" + end + ") WHERE deletion_status = 'NOT_EXPIRED' AND " + end + " IS NOT NULL;",
		index + table + " (deletion_initiated_at) WHERE deletion_status = 'DELETION_IN_PROGRESS';",
	}
}

// prepare serialises the creation of the tables.
func (p postgres) prepare(t *tx) error {
	if _, err := t.exec("SELECT pg_advisory_xact_lock(7564321)"); err != nil {
		return err
	}
	store, err := p.has(t, "store")
	if err == nil && store {
		err = fmt.Errorf("the schema %s holds the ledger of a store: name another one (schema: lethe_adopt)", p.o.Schema)
	}
	return err
}

// leave drops the schema if it is empty and owned by the user.
func (p postgres) leave(t *tx) error {
	var stays bool
	err := t.row(`SELECT EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace(?1))
		OR EXISTS (SELECT 1 FROM pg_proc WHERE pronamespace = to_regnamespace(?1))
		OR NOT coalesce((SELECT pg_has_role(nspowner, 'USAGE') FROM pg_namespace WHERE oid = to_regnamespace(?1)), FALSE)`, p.schema()).Scan(&stays)
	if err != nil || stays {
		return err
	}
	_, err = t.exec("DROP SCHEMA IF EXISTS {schema}")
	return err
}
