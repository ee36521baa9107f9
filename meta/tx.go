package meta

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"

	"github.com/lethe-storage/lethe"
)

// session is one connection with the statements prepared on it.
type session struct {
	conn    *sql.Conn
	dialect dialect
	stmts   map[string]*sql.Stmt
}

func newSession(ctx context.Context, pool *sql.DB, d dialect) (*session, error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, mapError(err)
	}
	return &session{conn, d, map[string]*sql.Stmt{}}, nil
}

// prepared returns the statement of a text, compiled once for each connection.
func (s *session) prepared(text string) (*sql.Stmt, error) {
	if st, ok := s.stmts[text]; ok {
		return st, nil
	}
	st, err := s.conn.PrepareContext(context.Background(), s.dialect.expand(text))
	if err != nil {
		return nil, mapError(err)
	}
	s.stmts[text] = st
	return st, nil
}

// exec runs a statement outside of every caller's context.
func (s *session) exec(text string) error {
	st, err := s.prepared(text)
	if err == nil {
		_, err = st.ExecContext(context.Background())
	}
	return mapError(err)
}

// close ends the session and its connection.
func (s *session) close() error {
	for _, st := range s.stmts {
		st.Close()
	}
	return s.conn.Close()
}

// tx is a transaction in progress: one snapshot, one instant.
type tx struct {
	// ctx is the caller's in a read, and nobody's in a write: what is grouped
	// with others' writes cannot be broken off.
	ctx context.Context
	// now is the transaction's only time (design rule 10).
	now lethe.Time

	db *DB
	s  *session
	// random is the source of ids; a write that is run again draws the same.
	random io.Reader
	// writes: it may lock what it reads.
	writes bool
	// spoilt is the first error that may have ended the transaction. Nothing runs
	// after it, because that would be committed by itself.
	spoilt error
	counts counters
	common *common // of the group that it is a member of
	by     lethe.Caller
	op     lethe.ID          // the operation that it records, if it does
	held   map[lethe.ID]bool // contents that are locked
	doomed []Doomed          // what it condemned
}

// ready says that a statement may run, and sees what others of the group did.
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
	res, err := t.s.execute(t.ctx, query, args)
	if err != nil {
		return 0, t.failed(err)
	}
	return res.RowsAffected()
}

// query runs a statement that answers rows; see collect.
func (t *tx) query(query string, args ...any) (*sql.Rows, error) {
	if err := t.ready(query); err != nil {
		return nil, err
	}
	rows, err := t.s.ask(t.ctx, query, args)
	return rows, t.failed(err)
}

// row runs a statement that answers at most one row; Scan answers sql.ErrNoRows
// if there is none.
func (t *tx) row(query string, args ...any) scanner {
	if err := t.ready(query); err != nil {
		return noRow{err}
	}
	return t.s.askOne(t.ctx, query, args)
}

// noRow is the answer of a statement that could not be run.
type noRow struct{ err error }

// Scan implements scanner.
func (n noRow) Scan(...any) error { return n.err }

// failed notes an error that may have ended the transaction.
func (t *tx) failed(err error) error {
	if err == nil {
		return nil
	}
	mapped := mapError(err)
	if spoils(err) && t.spoilt == nil {
		t.spoilt = mapped
	}
	return mapped
}

// must checks that a guarded statement changed exactly n rows; otherwise refused
// is the error.
func (t *tx) must(n int64, refused error, query string, args ...any) error {
	got, err := t.exec(query, args...)
	if err == nil && got != n {
		return refused
	}
	return err
}

// collect scans all rows and closes them.
func collect[T any](rows *sql.Rows, scan func(*sql.Rows) (T, error)) ([]T, error) {
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, mapError(err)
		}
		out = append(out, v)
	}
	return out, mapError(rows.Err())
}

// all runs a query and collects its rows.
func all[T any](t *tx, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := t.query(query, args...)
	if err != nil {
		return nil, err
	}
	out, err := collect(rows, scan)
	return out, t.failed(err)
}

// scanner is what *sql.Row and *sql.Rows have in common.
type scanner interface {
	Scan(dest ...any) error
}

// flag stores a bool.
func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// scanOne scans rows of a single column.
func scanOne[T any](rows *sql.Rows) (v T, err error) {
	err = rows.Scan(&v)
	return v, err
}

// asJSON encodes a parameter for rows and ids. It panics on what cannot be
// encoded, which no type of this package is.
func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("meta: encode parameter: %v", err))
	}
	return string(b)
}
