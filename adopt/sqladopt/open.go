package sqladopt

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// schemaVersion is the version of Lethe's tables. Earlier ones were never released: on MariaDB
// the guard relies on what condemned has since 3, and holds on the places of collections
// since 4.
const schemaVersion = 4

//go:embed schema.sql
var schemaSQL string

const insertAdoption = `INSERT INTO {lethe}adoption (one, version, created_at) VALUES (1, ?1, ?2) ON CONFLICT DO NOTHING`

// Options of a DB. The zero value has the defaults.
type Options struct {
	// Schema holds Lethe's tables (default "lethe"). Without schemas their
	// names begin with it.
	Schema string
	// Connections is the most open connections (default 8).
	Connections int
	// StatementTime and LockTime bound a statement, and a wait for rows that
	// the application has locked (defaults 30 s and 5 s).
	StatementTime, LockTime time.Duration
	// LookTime bounds each statement by which a check looks at rows without an index that
	// has to fit it (default 5 s; not on SQLite).
	LookTime time.Duration
	// Watch, if set, is called before each transaction with its name, one of a
	// fixed set. It returns the transaction's context, and a function that is
	// called once, at its end.
	Watch func(ctx context.Context, name string) (context.Context, func(error))
}

// DB is an application's database.
type DB struct {
	o      Options
	engine engine
	runner *sqldb.Runner
	begin  beginnings
}

// beginnings are the texts that begin transactions, and return their time.
type beginnings struct{ write, read string }

// Open connects to a database, by the form of its address. It changes nothing.
func Open(ctx context.Context, url string, o Options) (*DB, error) {
	o.Schema = cmp.Or(o.Schema, "lethe")
	o.Connections = cmp.Or(o.Connections, 8)
	o.StatementTime = cmp.Or(o.StatementTime, 30*time.Second)
	o.LockTime = cmp.Or(o.LockTime, 5*time.Second)
	o.LookTime = cmp.Or(o.LookTime, 5*time.Second)
	e, err := engineOf(url, o)
	if err != nil {
		return nil, err
	}
	db := &DB{o: o, engine: e}
	pool, err := e.pool(ctx, url)
	if err != nil {
		return nil, admission(url, err)
	}
	pool.SetMaxOpenConns(o.Connections)
	pool.SetMaxIdleConns(o.Connections)
	db.begin.write, db.begin.read = db.engine.beginnings()
	db.runner = &sqldb.Runner{
		Pool: pool, Dialect: db.engine.dialect(nil), AcquireTime: o.StatementTime, Count: new(sqldb.Counts),
	}
	if err := db.readOn(ctx, db.runner, "look at the database", db.engine.probe); err != nil {
		return nil, errors.Join(admission(url, Reason(err)), pool.Close())
	}
	return db, nil
}

// engineOf returns the engine for the form of an address.
func engineOf(url string, o Options) (engine, error) {
	switch scheme, _, _ := strings.Cut(url, ":"); {
	case mysqlURL.MatchString(url):
		e := mysql{o}
		return engine{e, e, e, e, e, e}, nil
	case scheme == "sqlite", scheme == "file":
		e := sqlite{o}
		return engine{e, e, e, e, e, e}, nil
	case scheme == "postgres", scheme == "postgresql", strings.Contains(url, "=") && !strings.Contains(url, "://"):
		e := postgres{o}
		return engine{e, e, e, e, e, e}, nil
	}
	return engine{}, errors.New("the address of the database is of no form that is known: give postgres://user:password@host:5432/name, mysql://user:password@host:3306/name or sqlite:/path/to/file.db")
}

// Close closes the connections.
func (db *DB) Close() error { return db.runner.Pool.Close() }

// Install creates Lethe's tables, unless they exist.
func (db *DB) Install(ctx context.Context) error {
	return db.write(ctx, "make Lethe's tables", func(t *tx) error {
		if err := db.engine.prepare(t); err != nil {
			return err
		}
		if err := db.fits(t); err != nil {
			return err
		}
		if err := t.script(db.runner.Dialect.Expand(schemaSQL)); err != nil {
			return err
		}
		_, err := t.exec(insertAdoption, schemaVersion, t.now)
		return err
	})
}

// fits returns whether existing tables are those of this version.
func (db *DB) fits(t *tx) error {
	there, err := db.engine.has(t, "adoption")
	if err != nil || !there {
		return err
	}
	var have int
	err = t.row("SELECT version FROM {lethe}adoption").Scan(&have)
	switch {
	case errors.Is(err, sql.ErrNoRows): // an installation that was interrupted
		return nil
	case err != nil:
		return err
	case have > schemaVersion:
		return fmt.Errorf("the tables of Lethe have version %d, this lethe knows %d: use a newer lethe", have, schemaVersion)
	case have < schemaVersion:
		return fmt.Errorf("the tables of Lethe have version %d, which no release has had: let the lethe that made them take them away (\"lethe adopt remove\"), and begin anew", have)
	}
	return nil
}

// tables are Lethe's own.
var tables = []string{"adoption", "at_work", "cache_due", "collections", "condemned", "folders", "holds", "live_rows", "meanings", "orphans", "pairings", "quarantined", "receipt_pages", "receipt_seals", "receipts", "runs", "troubles", "uploads"}

// ownTables reports which tables are Lethe's own, by a schema or another prefix.
func ownTables(prefix string) func(string) bool {
	return func(table string) bool {
		name, ok := strings.CutPrefix(table, prefix)
		return ok && (slices.Contains(tables, name) || name == "guards") // of MariaDB
	}
}

// Remove drops Lethe's tables, and their schema if it is empty then. It fails
// with ErrHeld if a hold is in force, which would be forgotten.
func (db *DB) Remove(ctx context.Context) error {
	return db.write(ctx, "remove Lethe's tables", func(t *tx) error {
		holds, err := t.holds(db.engine, "")
		if err != nil || len(holds) > 0 {
			return cmp.Or(err, lethe.ErrHeld)
		}
		if err := t.withdrawGuards(db.engine); err != nil {
			return err
		}
		for _, name := range tables {
			if _, err := t.exec("DROP TABLE IF EXISTS {lethe}" + name); err != nil {
				return err
			}
		}
		return db.engine.leave(t)
	})
}

// Installed reports whether Lethe's tables exist.
func (db *DB) Installed(ctx context.Context) (yes bool, err error) {
	err = db.read(ctx, "look for Lethe's tables", func(t *tx) error {
		yes, err = db.engine.has(t, "adoption")
		return err
	})
	return yes, err
}

// drawFence returns a number that no other worker has.
func drawFence() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return int64(binary.LittleEndian.Uint64(b[:])>>1) | 1
}
