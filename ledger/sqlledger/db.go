package sqlledger

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
	"github.com/lethe-storage/lethe/lifecycle"
	"github.com/lethe-storage/lethe/notification"
)

//go:embed migrations/*/*.sql
var migrations embed.FS

// Memory is the path of a ledger in memory, which exists as long as its DB.
const Memory = engine.Memory

// ErrOutdated is returned when a newer program has changed the ledger in a way that this one
// does not support.
var ErrOutdated = engine.ErrOutdated

// DB is the ledger: in a SQLite file (Open) or in a PostgreSQL database
// (OpenPostgres). Its methods may be called from any number of goroutines.
type DB struct {
	o       ledger.Options
	engine  *engine.Engine
	moved   func([]ledger.Move)
	watch   Watch
	rules   textCache[lifecycle.Rules]
	notify  textCache[notification.Rules]
	sealing *SealingKeys // encrypts secrets; nil: they are stored in clear
	near    nearQuota
	// resolved are kept on SQLite only: on PostgreSQL other instances write.
	resolved keptObjects
	// recountPage is how many contents or blobs one snapshot of a recount, or of a walk of all
	// contents, covers; 0: 10,000.
	recountPage int
	relocated   string // why it holds all deletes since it was opened: it was relocated
}

// Open opens the ledger at path, or creates it. It fails, and leaves the file unchanged, if
// another process has it open, if it is no ledger, if it is damaged (ErrCorrupt), or if a
// newer lethe has written it.
func Open(ctx context.Context, path string, o ledger.Options, set ...Setting) (*DB, error) {
	with := settingsOf(o, set)
	e, err := engine.OpenFile(ctx, path, with.engine)
	return opened(ctx, e, err, with)
}

// OpenPostgres opens the ledger in the database of the URL
// (postgres://user:password@host:port/database?sslmode=...), or creates it in its schema. It
// fails if PostgreSQL cannot be reached (ErrUnavailable) or is older than 14, if the
// database is not in UTF-8, or if a newer lethe has changed the ledger incompatibly
// (ErrOutdated).
func OpenPostgres(ctx context.Context, url string, o ledger.Options, set ...Setting) (*DB, error) {
	with := settingsOf(o, set)
	e, err := engine.OpenServer(ctx, url, with.engine, with.postgres)
	return opened(ctx, e, err, with)
}

// opened returns the ledger of an engine, and compares its place with the recorded one.
func opened(ctx context.Context, e *engine.Engine, err error, with settings) (*DB, error) {
	if err != nil {
		return nil, err
	}
	db := &DB{o: with.engine.Ledger, engine: e}
	db.rules.read, db.notify.read = lifecycle.Decode, notification.Decode
	if err := db.settlePlace(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// write runs fn as one transaction, for a client. It may run fn more than once, so fn must
// set its results anew each time. An error of fn undoes all that fn did. If ctx ends before
// fn begins, fn never runs. Once it has begun it runs to its end, and write returns its
// result. ErrUnknownOutcome: the transaction may or may not have happened.
func (db *DB) write(ctx context.Context, what string, fn func(*tx) error) error {
	return db.submit(ctx, engine.Request, what, engine.Job{}, fn)
}

// writeAsking is write for an fn that asks a question before it sends anything else or uses
// the time, which are known with its answer. That saves a round trip to PostgreSQL.
func (db *DB) writeAsking(ctx context.Context, what string, fn func(*tx) error) error {
	return db.submit(ctx, engine.Request, what, engine.Job{Asks: true}, fn)
}

// batch is write for the engine. Its groups alternate with those of clients, or use
// connections of their own.
func (db *DB) batch(ctx context.Context, what string, fn func(*tx) error) error {
	return db.submit(ctx, engine.Batch, what, engine.Job{}, fn)
}

// batchFor is batch for a client if one waits for it, who would wait for what runs at low priority.
func (db *DB) batchFor(ctx context.Context, awaited bool, what string, fn func(*tx) error) error {
	return db.submit(ctx, engine.Batch, what, engine.Job{Awaited: awaited}, fn)
}

func (db *DB) submit(ctx context.Context, k engine.Kind, what string, j engine.Job, fn func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ledger: %s: %w", what, err)
	}
	ctx, fn, ended := db.watched(ctx, Transaction{Write: true}, fn)
	var t *tx // of the last try
	j.Do = func(x *engine.Tx) error {
		t = &tx{Tx: x, db: db}
		if err := fn(t); err != nil {
			return err
		}
		return t.counts.flush(t)
	}
	j.By = lethe.CallerOf(ctx)
	j.Committed = func() { t.counts.publish(db.moved) }
	err := db.engine.Write(ctx, k, j)
	if err != nil {
		err = fmt.Errorf("ledger: %s: %w", what, err)
	}
	ended(err)
	return err
}

// read runs fn in a read-only transaction on one snapshot. It ends when ctx does.
func (db *DB) read(ctx context.Context, what string, fn func(*tx) error) error {
	return db.look(ctx, engine.Request, what, fn)
}

// walk is read for reads that may cover the whole ledger.
func (db *DB) walk(ctx context.Context, what string, fn func(*tx) error) error {
	return db.look(ctx, engine.Batch, what, fn)
}

func (db *DB) look(ctx context.Context, k engine.Kind, what string, fn func(*tx) error) error {
	if t := db.snapshotOf(ctx); t != nil {
		return fn(t)
	}
	ctx, fn, ended := db.watched(ctx, Transaction{}, fn)
	err := db.engine.View(ctx, k, func(x *engine.Tx) error { return fn(&tx{Tx: x, db: db}) })
	if err != nil {
		err = fmt.Errorf("ledger: %s: %w", what, err)
	}
	ended(err)
	return err
}

// readPoint runs fn, which reads a few rows by their keys, one statement at a time. Each
// statement sees its own snapshot, and the time is known once the first one is answered. That
// saves BEGIN and COMMIT, which would take longer than the read.
func (db *DB) readPoint(ctx context.Context, g pointRead, fn func(*tx) error) error {
	if db.snapshotOf(ctx) != nil {
		return db.read(ctx, g.what+" "+g.of, fn)
	}
	ctx, fn, ended := db.watched(ctx, Transaction{Name: g.method}, fn)
	err := db.engine.PointRead(ctx, func(x *engine.Tx) error { return fn(&tx{Tx: x, db: db}) })
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
func (db *DB) Stats() Stats { return Stats(db.engine.Stats()) }

// ClockBehind returns how far the clock lies behind the highest time that the ledger ever
// used, 0 for up to a minute. Meanwhile the ledger's own clock stands still, and routines
// that destroy by age should wait (docs/protocol.md, rule 13).
func (db *DB) ClockBehind() time.Duration { return db.engine.ClockBehind() }

// ClockAhead returns how far the clock was set forward since the ledger was opened, 0 for up
// to Options.ClockJump. Meanwhile the ledger's own clock continues without the jump, and
// routines that destroy by age should wait (docs/protocol.md, rule 13). It ends when the
// clock is set back, or at the first open after ConfirmClock. A jump while no process had the
// ledger open is detected when it is opened (Options.BootID).
func (db *DB) ClockAhead() time.Duration { return db.engine.ClockAhead() }

// Close waits for the writes in progress and closes the ledger. Closing it again returns the
// result of the first call.
func (db *DB) Close() error { return db.engine.Close() }
