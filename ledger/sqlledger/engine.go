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
	sealing *SealingKeys // encrypts secrets; nil: they are stored in clear
	*file                // of SQLite; nil on PostgreSQL
	pg      *server      // of PostgreSQL; nil on SQLite
	// recountPage is how many contents or blobs one snapshot of a recount covers; 0: 10,000.
	recountPage int
	strayed     string // why it holds all deletes since it was opened: it was relocated
}

// engine runs transactions on a database.
type engine interface {
	// run runs a write as one transaction. It sets nothing but what its fn sets.
	run(ctx context.Context, k kind, w job) error
	// view runs fn in a read-only transaction on one snapshot.
	view(ctx context.Context, k kind, fn func(*tx) error) error
	// behind returns how far the clock lies behind the highest time ever used.
	behind() time.Duration
	stats() Stats
	// close waits for the writes in progress.
	close() error
}

// job is one write.
type job struct {
	what string // for messages
	fn   func(*tx) error
	by   lethe.Caller

	random *replay // on PostgreSQL
}

// write runs fn as one transaction, for a client. It may run fn more than once, so fn must
// set its results anew each time. An error of fn undoes all that fn did. If ctx ends before
// fn begins, fn never runs. Once it has begun it runs to its end, and write returns its
// result. ErrUnknownOutcome: the transaction may or may not have happened.
func (db *DB) write(ctx context.Context, what string, fn func(*tx) error) error {
	return db.submit(ctx, request, what, fn)
}

// batch is write for the engine. Its groups alternate with those of clients, or use
// connections of their own.
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

// read runs fn in a read-only transaction on one snapshot. It ends when ctx does.
func (db *DB) read(ctx context.Context, what string, fn func(*tx) error) error {
	return db.look(ctx, request, what, fn)
}

// walk is read for reads that may cover the whole ledger.
func (db *DB) walk(ctx context.Context, what string, fn func(*tx) error) error {
	return db.look(ctx, batch, what, fn)
}

func (db *DB) look(ctx context.Context, k kind, what string, fn func(*tx) error) error {
	if t := db.snapshotOf(ctx); t != nil {
		return fn(t)
	}
	ctx, fn, ended := db.watched(ctx, Transaction{}, fn)
	err := db.engine.view(ctx, k, fn)
	if err != nil {
		err = fmt.Errorf("ledger: %s: %w", what, err)
	}
	ended(err)
	return err
}

// glance runs fn, which reads a few rows by their keys, one statement at a time. Each
// statement sees its own snapshot. With SQLite that saves BEGIN, COMMIT and watching ctx,
// which would take longer than the read.
func (db *DB) glance(ctx context.Context, g pointRead, fn func(*tx) error) error {
	if db.file == nil || db.snapshotOf(ctx) != nil {
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

// pointRead describes a read for its error message. It is a struct because reads are many and
// the message is needed only on error.
type pointRead struct{ method, what, of string }

// snapshot is the key of a context whose reads see one instant of a ledger.
type snapshot struct{ db *DB }

// OneSnapshot runs fn with a context in which all reads of this ledger are one read-only
// transaction, and so see one instant. It may run fn more than once: fn sets its results
// anew each time. The context is for one goroutine, for reads alone, and until fn returns.
func (db *DB) OneSnapshot(ctx context.Context, fn func(context.Context) error) error {
	return db.read(ctx, "read one snapshot", func(t *tx) error {
		return fn(context.WithValue(ctx, snapshot{db}, t))
	})
}

func (db *DB) snapshotOf(ctx context.Context) *tx {
	t, _ := ctx.Value(snapshot{db}).(*tx)
	return t
}

// Stats returns counts since Open.
func (db *DB) Stats() Stats { return db.engine.stats() }

// ClockBehind returns how far the clock lies behind the highest time that the ledger ever
// used, 0 for up to a minute. Meanwhile the ledger's own clock stands still, and routines
// that destroy by age should wait (docs/protocol.md, rule 13).
func (db *DB) ClockBehind() time.Duration { return db.engine.behind() }

// Close waits for the writes in progress and closes the ledger. Closing it again returns the
// result of the first call.
func (db *DB) Close() error { return db.engine.close() }
