package sqladopt

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// scope is a collection's part of a database: its name, and statements with its
// words.
type scope struct {
	name   string
	prefix string // of the whole keys of its objects
	// place and key are the table of rows and the column of its keys; empty if there are none.
	place, key string
	grace      adopt.Grace
	db         *DB
	runner     *sqldb.Runner
	needs      needs
	prepared   *prepared // what its statements were made for; nil if that is a query, which is run as it is
}

// scope returns a collection's part of the database.
func (db *DB) scope(name string, c adopt.Collection, w words) scope {
	runner := *db.runner
	runner.Dialect = db.engine.dialect(w)
	return scope{name: name, prefix: c.Prefix, grace: c.Graces(), db: db, runner: &runner, needs: needsOf(c)}
}

// write fails with adopt.ErrChanged, and does nothing, if the tables changed.
func (s scope) write(ctx context.Context, what string, fn func(*tx) error) error {
	err := s.db.writeOn(ctx, s.runner, what+" of "+s.name, func(t *tx) error {
		if err := fn(t); err != nil || s.prepared == nil {
			return err
		}
		return s.db.engine.expect(t, s.prepared)
	})
	return s.db.withGrants(ctx, s.needs, s.changed(ctx, err))
}

// onKeys runs a statement of the collection on keys, if there are any.
func (s scope) onKeys(t *tx, text string, keys []string, args ...any) error {
	if len(keys) == 0 {
		return nil
	}
	_, err := t.exec(text, append([]any{s.name, sqldb.JSON(keys)}, args...)...)
	return err
}

// relaxed is write for a transaction that may be undone by a crash of the
// server: it is then done again, and nothing that cannot be undone relies on it.
func (s scope) relaxed(ctx context.Context, what string, fn func(*tx) error) error {
	return s.write(ctx, what, func(t *tx) error {
		if err := s.db.engine.relax(t); err != nil {
			return err
		}
		return fn(t)
	})
}

func (s scope) read(ctx context.Context, what string, fn func(*tx) error) error {
	return s.db.withGrants(ctx, s.needs, s.db.readOn(ctx, s.runner, what+" of "+s.name, fn))
}

// tx is a transaction in progress.
type tx struct {
	ctx context.Context
	s   *sqldb.Session
	now lethe.Time // its only time
	// looked: it asked whether something refers to contents.
	looked bool
}

// write runs fn as one transaction. fn may run more than once, and sets its
// results again each time.
func (db *DB) write(ctx context.Context, what string, fn func(*tx) error) error {
	return db.withGrants(ctx, needs{}, db.writeOn(ctx, db.runner, what, fn))
}

func (db *DB) writeOn(ctx context.Context, r *sqldb.Runner, what string, fn func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	ctx, ended := db.watched(ctx, what)
	err := r.Write(ctx, sqldb.Transaction{Begin: db.begin.write, Longest: 10 * db.o.StatementTime, Do: run(fn)})
	ended(err)
	return named(what, err)
}

// read runs fn in a transaction that changes nothing.
func (db *DB) read(ctx context.Context, what string, fn func(*tx) error) error {
	return db.withGrants(ctx, needs{}, db.readOn(ctx, db.runner, what, fn))
}

func (db *DB) readOn(ctx context.Context, r *sqldb.Runner, what string, fn func(*tx) error) error {
	ctx, ended := db.watched(ctx, what)
	err := r.Read(ctx, sqldb.Transaction{Begin: db.begin.read, Do: run(fn)})
	ended(err)
	return named(what, err)
}

// watched reports that a transaction begins. Its name omits its parameters.
func (db *DB) watched(ctx context.Context, what string) (context.Context, func(error)) {
	if db.o.Watch == nil {
		return ctx, func(error) {}
	}
	name, _, _ := strings.Cut(what, " of ")
	return db.o.Watch(ctx, name)
}

func named(what string, err error) error {
	if err != nil {
		return &failed{what, err}
	}
	return nil
}

// failed is the error of a transaction.
type failed struct {
	what string // it was for
	err  error
}

// Error implements error. People read it: it begins with what was done, not with a package.
func (f *failed) Error() string { return f.what + ": " + f.err.Error() }

// Unwrap returns why.
func (f *failed) Unwrap() error { return f.err }

// Reason returns why a transaction failed, without what it was for; other errors as they
// are.
func Reason(err error) error {
	var f *failed
	if errors.As(err, &f) {
		return f.err
	}
	return err
}

func run(fn func(*tx) error) func(context.Context, *sqldb.Session, []string) error {
	return func(ctx context.Context, s *sqldb.Session, began []string) error {
		if len(began) != 1 {
			return errors.New("the database did not tell its time")
		}
		now, err := strconv.ParseInt(began[0], 10, 64)
		if err != nil {
			return err
		}
		return fn(&tx{ctx: ctx, s: s, now: lethe.Time(now)})
	}
}

func (t *tx) exec(query string, args ...any) (int64, error) {
	res, err := t.s.Execute(t.ctx, query, args)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// send is exec for a statement whose answer is not needed. PostgreSQL gets it with the next
// one, or with COMMIT, which returns its error.
func (t *tx) send(query string, args ...any) error { return t.s.Send(t.ctx, query, args) }

func (t *tx) row(query string, args ...any) sqldb.Scanner { return t.s.AskOne(t.ctx, query, args) }

// script runs statements without parameters and placeholders.
func (t *tx) script(text string) error {
	_, err := t.s.Script(t.ctx, text)
	return err
}

// all runs a query and scans its rows.
func all[T any](t *tx, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := t.s.Ask(t.ctx, query, args)
	if err != nil {
		return nil, err
	}
	return sqldb.Collect(rows, scan)
}

// listable refuses a key that is not UTF-8: in a list it would become another.
func listable(key string) error {
	if !utf8.ValidString(key) {
		return fmt.Errorf("key %q is not UTF-8: correct it", key)
	}
	return nil
}

// text scans rows of one column of text.
func text(r *sql.Rows) (string, error) { return sqldb.One[string](r) }
