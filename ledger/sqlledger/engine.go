package sqlledger

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

// DB is the ledger: in a SQLite file (Open) or in a PostgreSQL database
// (OpenPostgres). Its methods may be called from any number of goroutines.
type DB struct {
	o       ledger.Options
	noSync  bool
	random  io.Reader
	dialect sqldb.Dialect
	engine  engine
	moved   func([]ledger.Move)
	watch   Watch
	rules   ruleCache
	sealing *SealingKeys // of secrets; nil: they are kept in clear
	*file                // of SQLite; nil on PostgreSQL
	pg      *server      // of PostgreSQL; nil on SQLite
	// recountPage is how many contents or blobs a recount looks at in one snapshot;
	// 0: 10,000.
	recountPage int
	strayed     string // why it holds all deletes since it was opened
}

// engine runs transactions on a database.
type engine interface {
	// run runs a write as one transaction and sets nothing but what its fn sets.
	run(ctx context.Context, k kind, w job) error
	// view runs fn in a read-only transaction on one snapshot.
	view(ctx context.Context, k kind, fn func(*tx) error) error
	// behind is by how much the clock lies behind the highest time ever used.
	behind() time.Duration
	stats() Stats
	// close waits for the writes that were begun.
	close() error
}

// job is one write.
type job struct {
	what string // for messages
	fn   func(*tx) error
	by   lethe.Caller

	random *replay // on PostgreSQL
}

// write runs fn as one transaction, for a client. It may run fn more than once:
// fn sets its results anew each time. An error of fn undoes all that fn did. If
// ctx ends before fn's turn, fn never runs; once it runs it is brought to its
// end, and its result is the answer. ErrUnknownOutcome: it may have happened.
func (db *DB) write(ctx context.Context, what string, fn func(*tx) error) error {
	return db.submit(ctx, request, what, fn)
}

// batch is write for the engine: its groups take turns with those of clients, or
// use connections of their own.
func (db *DB) batch(ctx context.Context, what string, fn func(*tx) error) error {
	return db.submit(ctx, batch, what, fn)
}

func (db *DB) submit(ctx context.Context, k kind, what string, fn func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ledger: %s: %w", what, err)
	}
	ctx, fn, ended := db.watched(ctx, Transaction{Write: true}, fn)
	err := db.engine.run(ctx, k, job{what: what, fn: fn, by: lethe.CallerOf(ctx)})
	if err != nil {
		err = fmt.Errorf("ledger: %s: %w", what, err)
	}
	ended(err)
	return err
}

// read runs fn in a read-only transaction on one snapshot. It ends with ctx.
func (db *DB) read(ctx context.Context, what string, fn func(*tx) error) error {
	return db.look(ctx, request, what, fn)
}

// walk is read for what may read the whole ledger.
func (db *DB) walk(ctx context.Context, what string, fn func(*tx) error) error {
	return db.look(ctx, batch, what, fn)
}

func (db *DB) look(ctx context.Context, k kind, what string, fn func(*tx) error) error {
	ctx, fn, ended := db.watched(ctx, Transaction{}, fn)
	err := db.engine.view(ctx, k, fn)
	if err != nil {
		err = fmt.Errorf("ledger: %s: %w", what, err)
	}
	ended(err)
	return err
}

// glance runs fn, which asks for a few rows by their keys, one statement at a time:
// each sees a snapshot of its own. Where the database lies in this process that
// saves the two statements around them, and those that watch ctx: a look for a few
// rows is over before it could be broken off.
func (db *DB) glance(ctx context.Context, g glimpse, fn func(*tx) error) error {
	if db.file == nil {
		return db.read(ctx, g.what+" "+g.of, fn)
	}
	ctx, fn, ended := db.watched(ctx, Transaction{Name: g.method}, fn)
	err := db.file.glance(ctx, fn)
	if err != nil {
		err = fmt.Errorf("ledger: %s %s: %w", g.what, g.of, err)
	}
	ended(err)
	return err
}

// glimpse says whose look it is and at what: known beforehand, and put together only
// for an error, since looks are many.
type glimpse struct{ method, what, of string }

// Stats returns counts since Open.
func (db *DB) Stats() Stats { return db.engine.stats() }

// ClockBehind returns by how much the clock lies behind the highest time that the
// ledger ever used, 0 if by no more than a minute. The ledger's own clock stands
// still meanwhile; routines that destroy by age should wait (docs/protocol.md, rule 13).
func (db *DB) ClockBehind() time.Duration { return db.engine.behind() }

// Close waits for the writes that were begun, and closes the ledger. Closing
// again does nothing.
func (db *DB) Close() error { return db.engine.close() }
