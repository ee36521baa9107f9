package engine

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// Tx is a transaction in progress: one snapshot, one instant.
type Tx struct {
	// Now is the transaction's only time (docs/protocol.md, rule 10).
	Now lethe.Time
	// Random is the source of ids; a write that runs again draws the same ones.
	Random io.Reader
	// Writes is set in a write, which may lock what it reads.
	Writes bool
	By     lethe.Caller
	// Group is of its group; nil if it is not a member of one.
	Group Group

	// ctx is the caller's in a read, and context.Background in a write on SQLite: it shares
	// its group with others and cannot be cancelled.
	ctx context.Context
	e   *Engine
	s   *sqldb.Session
	// clock is the query for the time that goes with the first question. Now is 0 until that
	// is answered. Nil: Now is known.
	clock *Sent
	// aborted is the first error that may have aborted the transaction. No statement runs
	// after it, because that would be committed on its own.
	aborted error
	// wrote: it ran a statement that may have changed something.
	wrote bool
}

// Group is what the members of a group of writes put off, to write it once for all of them, and
// what one has read for the others.
type Group interface {
	// Runs is told of each statement before it runs, and reports whether that reads what is put
	// off.
	Runs(query string) bool
	// Flush writes it, before such a statement or before COMMIT.
	Flush(*Tx) error
	// Kept ends a member whose changes stay, Undone one that was rolled back, with whatever
	// was flushed or read meanwhile.
	Kept()
	Undone()
}

// Alone reports whether no other transaction can write at the same time.
func (t *Tx) Alone() bool { return t.e.Dialect.Alone }

// Aborted returns the error that has aborted the transaction, nil if none has.
func (t *Tx) Aborted() error { return t.aborted }

// ready returns an error if the transaction is aborted. Else the query may run, and sees
// what others of the group did.
func (t *Tx) ready(query string) error {
	t.wrote = t.wrote || !strings.HasPrefix(query, "SELECT")
	if t.aborted == nil && t.Group != nil && t.Group.Runs(query) {
		t.aborted = t.Group.Flush(&Tx{ctx: t.ctx, Now: t.Now, e: t.e, s: t.s})
	}
	return t.aborted
}

// Exec runs a statement and returns how many rows it changed.
func (t *Tx) Exec(query string, args ...any) (int64, error) {
	if err := t.ready(query); err != nil {
		return 0, err
	}
	res, err := t.s.Execute(t.ctx, query, args)
	if err = t.answered(err); err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Sent is a statement that was sent without waiting for its answer.
type Sent = sqldb.Queued

// fewRows are answers of SQLite that most statements get, so that they are not allocated.
var fewRows = [2]Sent{{Rows: 0}, {Rows: 1}}

// Send is Exec for a statement whose answer is not needed yet. PostgreSQL gets it in one
// round trip with the next one that is answered, which sets Sent.Rows and returns its error,
// or with COMMIT.
func (t *Tx) Send(query string, args ...any) (*Sent, error) {
	if t.e.Server == nil {
		n, err := t.Exec(query, args...)
		if n < int64(len(fewRows)) {
			return &fewRows[n], err
		}
		return &Sent{Rows: n}, err
	}
	if t.aborted != nil {
		return nil, t.aborted
	}
	if t.clock != nil {
		return nil, errTimeless
	}
	sent, err := t.s.Queue(query, args)
	return sent, t.Failed(err)
}

// errTimeless is returned for a statement that needs the time before that is known.
var errTimeless = errors.New("the transaction has to ask a question first")

// Ask is Row for a statement that locks and changes nothing and whose answer is not needed
// yet. PostgreSQL gets it in one round trip with the next one that is answered, and only
// then may it be scanned.
func (t *Tx) Ask(query string, args ...any) sqldb.Scanner {
	if t.e.Server == nil {
		return later(func(dest ...any) error { return t.Row(query, args...).Scan(dest...) })
	}
	if t.aborted != nil {
		return sqldb.NoRow{Err: t.aborted}
	}
	sent, err := t.s.Queue(query, args)
	if err := t.Failed(err); err != nil {
		return sqldb.NoRow{Err: err}
	}
	return sent
}

// later is a question that is asked when its answer is scanned.
type later func(dest ...any) error

// Scan implements sqldb.Scanner.
func (l later) Scan(dest ...any) error { return l(dest...) }

// Query runs a statement that returns rows; see sqldb.Collect.
func (t *Tx) Query(query string, args ...any) (*sql.Rows, error) {
	if err := t.ready(query); err != nil {
		return nil, err
	}
	rows, err := t.s.Ask(t.ctx, query, args)
	return rows, t.answered(err)
}

// Row runs a statement that returns at most one row; Scan returns sql.ErrNoRows if there is
// none.
func (t *Tx) Row(query string, args ...any) sqldb.Scanner {
	if err := t.ready(query); err != nil {
		return sqldb.NoRow{Err: err}
	}
	row := t.s.AskOne(t.ctx, query, args)
	if err := t.answered(nil); err != nil {
		return sqldb.NoRow{Err: err}
	}
	return answer{t, row}
}

// answer is a row whose error is noted, whatever the caller does with it.
type answer struct {
	t   *Tx
	row sqldb.Scanner
}

// Scan implements sqldb.Scanner.
func (a answer) Scan(dest ...any) error {
	err := a.row.Scan(dest...)
	if sqldb.Aborts(err) {
		return a.t.Failed(err)
	}
	return err
}

// answered takes the time that came with an answer, if it did, and returns the error of the
// statement.
func (t *Tx) answered(err error) error {
	if err != nil || t.clock == nil || !t.clock.Answered() {
		return t.Failed(err)
	}
	t.Now, err = t.e.Server.clock.from(t.clock)
	t.clock = nil
	return t.Failed(err)
}

// Failed notes an error that may have aborted the transaction, and returns it.
func (t *Tx) Failed(err error) error {
	if err == nil {
		return nil
	}
	mapped := sqldb.MapError(err)
	if sqldb.Aborts(err) && t.aborted == nil {
		t.aborted = mapped
	}
	return mapped
}

// Must sends a guarded statement that has to change exactly n rows: refused if it does not.
// On PostgreSQL that may be the error of the next statement that is answered, or of COMMIT,
// which then does nothing.
func (t *Tx) Must(n int64, refused error, query string, args ...any) error {
	if t.e.Server != nil {
		if t.aborted != nil {
			return t.aborted
		}
		if t.clock != nil {
			return errTimeless
		}
		return t.Failed(t.s.Guard(n, refused, query, args))
	}
	got, err := t.Exec(query, args...)
	if err == nil && got != n {
		return refused
	}
	return err
}
