package sqladopt

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// schemaVersion is that of Lethe's tables.
const schemaVersion = 1

//go:embed schema_postgres.sql
var postgresSchema string

// Options of a DB. The zero value takes the defaults.
type Options struct {
	// Schema holds Lethe's tables (default "lethe").
	Schema string
	// Connections is the most that are open at once (default 8).
	Connections int
	// StatementTime and LockTime bound a statement, and a wait for rows that the
	// application holds (defaults 30 s and 5 s).
	StatementTime, LockTime time.Duration
}

// DB is an application's database.
type DB struct {
	o      Options
	runner *sqldb.Runner
	begin  string
}

// Open connects to the primary of a PostgreSQL database. It changes nothing.
func Open(ctx context.Context, url string, o Options) (*DB, error) {
	o.Schema = cmp.Or(o.Schema, "lethe")
	o.Connections = cmp.Or(o.Connections, 8)
	o.StatementTime = cmp.Or(o.StatementTime, 30*time.Second)
	o.LockTime = cmp.Or(o.LockTime, 5*time.Second)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		// The driver's own words may quote what it could not read, the password with it.
		return nil, errors.New("the address of the database cannot be read: give one such as postgres://user:password@host:5432/name")
	}
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, 10*time.Second)
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "lethe adopt"
	}
	// Nothing is prepared, and nothing set for a session: a pooler may lie between.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	pool := stdlib.OpenDB(*config)
	pool.SetMaxOpenConns(o.Connections)
	pool.SetMaxIdleConns(o.Connections)
	db := &DB{o: o, begin: beginning(o)}
	db.runner = &sqldb.Runner{
		Pool: pool, Dialect: db.dialect(nil), AcquireTime: o.StatementTime, Count: new(sqldb.Counts),
	}
	if err := db.primary(ctx); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return db, nil
}

// beginning is the text that begins a transaction and asks for its time.
func beginning(o Options) string {
	ms := func(d time.Duration) string { return strconv.FormatInt(max(1, d.Milliseconds()), 10) }
	return "BEGIN ISOLATION LEVEL READ COMMITTED" +
		"; SET LOCAL lock_timeout = " + ms(o.LockTime) +
		"; SET LOCAL statement_timeout = " + ms(o.StatementTime) +
		"; SET LOCAL idle_in_transaction_session_timeout = " + ms(o.StatementTime) +
		"; SET LOCAL jit = off" +
		// A policy that hides rows is an error: what they refer to would be taken for unused.
		"; SET LOCAL row_security = off" +
		"; SET LOCAL bytea_output = hex" + // as the guard writes keys
		"; SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)"
}

// primary refuses a standby: what a replica would answer is never believed.
func (db *DB) primary(ctx context.Context) error {
	return db.read(ctx, "look at the database", func(t *tx) error {
		var standby bool
		var version int
		if err := t.row("SELECT pg_is_in_recovery(), current_setting('server_version_num')::int").Scan(&standby, &version); err != nil {
			return err
		}
		switch {
		case standby:
			return errors.New("this PostgreSQL is a standby: give the URL of the primary")
		case version < 14_00_00:
			return fmt.Errorf("PostgreSQL is of version %d: at least 14 is needed", version/10000)
		}
		return nil
	})
}

// Close closes the connections.
func (db *DB) Close() error { return db.runner.Pool.Close() }

// dialect is PostgreSQL's, with the words of a collection.
func (db *DB) dialect(words map[string]string) sqldb.Dialect {
	all := map[string]string{"{for update}": "FOR UPDATE", "{lethe}": ident(db.o.Schema) + ".", "{schema}": ident(db.o.Schema)}
	for k, v := range words {
		all[k] = v
	}
	return sqldb.Postgres(all)
}

// ident quotes a name.
func ident(name string) string { return pgx.Identifier{name}.Sanitize() }

// Install makes Lethe's tables, unless they are there.
func (db *DB) Install(ctx context.Context) error {
	return db.write(ctx, "make Lethe's tables", func(t *tx) error {
		if _, err := t.exec("SELECT pg_advisory_xact_lock(7564321)"); err != nil { // one at a time
			return err
		}
		var store bool
		if err := t.row("SELECT to_regclass(?1) IS NOT NULL", ident(db.o.Schema)+".store").Scan(&store); err != nil {
			return err
		}
		if store {
			return fmt.Errorf("the schema %s holds the ledger of a store: name another one (schema: lethe_adopt)", db.o.Schema)
		}
		if _, err := t.s.Simple(t.ctx, db.runner.Dialect.Expand(postgresSchema)); err != nil {
			return err
		}
		if _, err := t.exec("INSERT INTO {lethe}adoption (one, version, created_at) VALUES (1, ?1, ?2) ON CONFLICT DO NOTHING", schemaVersion, t.now); err != nil {
			return err
		}
		var have int
		if err := t.row("SELECT version FROM {lethe}adoption").Scan(&have); err != nil {
			return err
		}
		if have > schemaVersion {
			return fmt.Errorf("Lethe's tables have version %d, this lethe knows %d: use a newer lethe", have, schemaVersion)
		}
		return nil
	})
}

// tables are Lethe's own.
var tables = []string{"adoption", "cache_due", "collections", "condemned", "folders", "holds", "live_rows", "orphans", "quarantined", "receipts", "runs"}

// Remove drops Lethe's tables, and their schema if nothing else lies there: ErrHeld if a
// hold stands, which would be forgotten.
func (db *DB) Remove(ctx context.Context) error {
	return db.write(ctx, "remove Lethe's tables", func(t *tx) error {
		holds, err := t.holds(db.o.Schema, "")
		if err != nil || len(holds) > 0 {
			return cmp.Or(err, lethe.ErrHeld)
		}
		for _, name := range tables {
			if _, err := t.exec("DROP TABLE IF EXISTS {lethe}" + ident(name)); err != nil {
				return err
			}
		}
		var others bool
		err = t.row(`SELECT EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace(?1))
			OR EXISTS (SELECT 1 FROM pg_proc WHERE pronamespace = to_regnamespace(?1))`, ident(db.o.Schema)).Scan(&others)
		if err != nil || others {
			return err
		}
		_, err = t.exec("DROP SCHEMA IF EXISTS {schema}")
		return err
	})
}

// Installed reports whether Lethe's tables are there.
func (db *DB) Installed(ctx context.Context) (yes bool, err error) {
	err = db.read(ctx, "look for Lethe's tables", func(t *tx) error {
		return t.row("SELECT to_regclass(?1) IS NOT NULL", ident(db.o.Schema)+".adoption").Scan(&yes)
	})
	return yes, err
}

// scope is a collection's part of a database: its name, and statements with its words.
type scope struct {
	name   string
	prefix string // of the whole keys of its objects
	db     *DB
	runner *sqldb.Runner
}

// scope makes a collection's part of the database.
func (db *DB) scope(name, prefix string, w words) scope {
	runner := *db.runner
	runner.Dialect = db.dialect(w)
	return scope{name, prefix, db, &runner}
}

func (s scope) write(ctx context.Context, what string, fn func(*tx) error) error {
	return s.db.writeOn(ctx, s.runner, what+" of "+s.name, fn)
}

func (s scope) read(ctx context.Context, what string, fn func(*tx) error) error {
	return s.db.readOn(ctx, s.runner, what+" of "+s.name, fn)
}

// tx is a transaction in progress.
type tx struct {
	ctx context.Context
	s   *sqldb.Session
	now lethe.Time // its only time
}

// write runs fn as one transaction; fn may run more than once, and sets its results
// anew each time.
func (db *DB) write(ctx context.Context, what string, fn func(*tx) error) error {
	return db.writeOn(ctx, db.runner, what, fn)
}

func (db *DB) writeOn(ctx context.Context, r *sqldb.Runner, what string, fn func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("sqladopt: %s: %w", what, err)
	}
	return named(what, r.Write(ctx, sqldb.Transaction{Begin: db.begin, Longest: 10 * db.o.StatementTime, Do: run(fn)}))
}

// read runs fn in a transaction that changes nothing.
func (db *DB) read(ctx context.Context, what string, fn func(*tx) error) error {
	return db.readOn(ctx, db.runner, what, fn)
}

func (db *DB) readOn(ctx context.Context, r *sqldb.Runner, what string, fn func(*tx) error) error {
	begin := strings.Replace(db.begin, "READ COMMITTED", "REPEATABLE READ READ ONLY", 1)
	return named(what, r.Read(ctx, sqldb.Transaction{Begin: begin, Do: run(fn)}))
}

func named(what string, err error) error {
	if err != nil {
		return fmt.Errorf("sqladopt: %s: %w", what, err)
	}
	return nil
}

func run(fn func(*tx) error) func(context.Context, *sqldb.Session, []*pgconn.Result) error {
	return func(ctx context.Context, s *sqldb.Session, began []*pgconn.Result) error {
		last := began[len(began)-1]
		if len(last.Rows) != 1 {
			return errors.New("the database did not tell its time")
		}
		now, err := strconv.ParseInt(string(last.Rows[0][0]), 10, 64)
		if err != nil {
			return err
		}
		return fn(&tx{ctx, s, lethe.Time(now)})
	}
}

func (t *tx) exec(query string, args ...any) (int64, error) {
	res, err := t.s.Execute(t.ctx, query, args)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (t *tx) row(query string, args ...any) sqldb.Scanner { return t.s.AskOne(t.ctx, query, args) }

// all runs a query and scans its rows.
func all[T any](t *tx, scan func(*sql.Rows) (T, error), query string, args ...any) (out []T, err error) {
	rows, err := t.s.Ask(t.ctx, query, args)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// text scans rows of one column of text.
func text(r *sql.Rows) (s string, err error) {
	err = r.Scan(&s)
	return s, err
}

// asJSON encodes a parameter. It panics on what cannot be encoded, which no type of
// this package is.
func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("sqladopt: encode parameter: %v", err))
	}
	return string(b)
}

// drawFence returns a number that no other worker has.
func drawFence() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return int64(binary.LittleEndian.Uint64(b[:])>>1) | 1
}
