package sqlledger

import (
	"context"
	"database/sql"
	"io"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// tx is a transaction in progress: one snapshot, one instant.
type tx struct {
	// ctx is the caller's in a read, and context.Background in a write: a write shares its
	// group with others and cannot be cancelled.
	ctx context.Context
	// now is the transaction's only time (docs/protocol.md, rule 10).
	now lethe.Time

	db *DB
	s  *sqldb.Session
	// random is the source of ids; a write that runs again draws the same ones.
	random io.Reader
	// writes is set in a write, which may lock what it reads.
	writes bool
	// spoilt is the first error that may have aborted the transaction. No statement runs
	// after it, because that would be committed on its own.
	spoilt error
	counts counters
	common *common // of its group, if it is a member of one
	by     lethe.Caller
	op     lethe.ID          // the operation that it records, if any
	held   map[lethe.ID]bool // contents that are locked
	doomed []CondemnedBlob   // blobs that it condemned
}

// ready returns an error if the transaction is aborted. Else the query may run, and sees
// what others of the group did.
func (t *tx) ready(query string) error {
	if t.spoilt == nil {
		t.spoilt = t.common.settle(t, query)
	}
	return t.spoilt
}

// exec runs a statement and returns how many rows it changed.
func (t *tx) exec(query string, args ...any) (int64, error) {
	if err := t.ready(query); err != nil {
		return 0, err
	}
	res, err := t.s.Execute(t.ctx, query, args)
	if err != nil {
		return 0, t.failed(err)
	}
	return res.RowsAffected()
}

// query runs a statement that returns rows; see sqldb.Collect.
func (t *tx) query(query string, args ...any) (*sql.Rows, error) {
	if err := t.ready(query); err != nil {
		return nil, err
	}
	rows, err := t.s.Ask(t.ctx, query, args)
	return rows, t.failed(err)
}

// row runs a statement that returns at most one row; Scan returns sql.ErrNoRows if there is
// none.
func (t *tx) row(query string, args ...any) sqldb.Scanner {
	if err := t.ready(query); err != nil {
		return sqldb.NoRow{Err: err}
	}
	return t.s.AskOne(t.ctx, query, args)
}

// failed notes an error that may have aborted the transaction, and returns it.
func (t *tx) failed(err error) error {
	if err == nil {
		return nil
	}
	mapped := sqldb.MapError(err)
	if sqldb.Spoils(err) && t.spoilt == nil {
		t.spoilt = mapped
	}
	return mapped
}

// must checks that a guarded statement changed exactly n rows, and returns refused if not.
func (t *tx) must(n int64, refused error, query string, args ...any) error {
	got, err := t.exec(query, args...)
	if err == nil && got != n {
		return refused
	}
	return err
}

// all runs a query and collects its rows.
func all[T any](t *tx, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := t.query(query, args...)
	if err != nil {
		return nil, err
	}
	out, err := sqldb.Collect(rows, scan)
	return out, t.failed(err)
}

// flag stores a bool.
func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
