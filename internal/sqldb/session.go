package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"
)

// Session is one connection with its prepared statements. It is not safe for concurrent use.
type Session struct {
	Conn    *sql.Conn
	dialect Dialect
	stmts   map[string]*sql.Stmt // nil: statements are not kept
	// failed: a statement of a Runner's transaction failed. MariaDB may have rolled back the
	// transaction, and would commit later statements on their own.
	failed bool
	begin  *Queued // the statement that begins the transaction; nil: it was not queued
}

// NewSession returns a session on a connection. It keeps its prepared statements until
// Close.
func NewSession(conn *sql.Conn, d Dialect) *Session {
	return &Session{Conn: conn, dialect: d, stmts: map[string]*sql.Stmt{}}
}

// Prepared returns the statement of a text, prepared once for each connection.
func (s *Session) Prepared(text string) (*sql.Stmt, error) {
	if st, ok := s.stmts[text]; ok {
		return st, nil
	}
	st, err := s.Conn.PrepareContext(context.Background(), s.dialect.Expand(text))
	if err != nil {
		return nil, MapError(err)
	}
	s.stmts[text] = st
	return st, nil
}

// Run runs a statement of SQLite without a caller's context.
func (s *Session) Run(text string) error {
	st, err := s.Prepared(text)
	if err == nil {
		_, err = st.ExecContext(context.Background())
	}
	return MapError(err)
}

// Close ends the session and its connection.
func (s *Session) Close() error {
	for _, st := range s.stmts {
		st.Close()
	}
	return s.Conn.Close()
}

// rollbackTime is how long the rollback of a failed transaction may take.
const rollbackTime = 5 * time.Second

// Script runs a text of one or several statements in one round trip. It returns the last row
// of the last statement, nil if that returns none.
func (s *Session) Script(ctx context.Context, text string) (last []string, err error) {
	return s.dialect.wire.script(ctx, s.Conn, text)
}

// Commit commits the transaction, with what is queued.
func (s *Session) Commit(ctx context.Context) error { return s.dialect.wire.commit(ctx, s.Conn) }

// Broken reports whether the connection is gone.
func (s *Session) Broken() bool { return s.dialect.wire.broken(s.Conn) }

// Undo rolls back a transaction that failed, if it was begun.
func (s *Session) Undo() {
	ctx, cancel := context.WithTimeout(context.Background(), rollbackTime)
	defer cancel()
	s.dialect.wire.drop(s.Conn)
	if s.dialect.wire.idle(s.Conn) {
		return
	}
	if _, err := s.Script(ctx, cmp.Or(s.dialect.undo, "ROLLBACK")); err != nil {
		s.Discard()
	}
}

// Discard closes the connection instead of keeping it.
func (s *Session) Discard() {
	_ = s.Conn.Raw(func(any) error { return driver.ErrBadConn })
}

// Give returns the connection to its pool.
func (s *Session) Give() {
	if err := s.Conn.Close(); err != nil && !errors.Is(err, sql.ErrConnDone) {
		s.Discard()
	}
}

// Execute runs a statement that returns no rows.
func (s *Session) Execute(ctx context.Context, text string, args []any) (sql.Result, error) {
	if s.stmts != nil {
		st, err := s.Prepared(text)
		if err != nil {
			return nil, err
		}
		return st.ExecContext(ctx, args...)
	}
	text, args, err := s.bind(text, args)
	if err != nil {
		return nil, err
	}
	res, err := s.Conn.ExecContext(ctx, text, args...)
	s.failed = s.failed || err != nil
	return res, err
}

// Ask runs a statement that returns rows.
func (s *Session) Ask(ctx context.Context, text string, args []any) (*sql.Rows, error) {
	if s.stmts != nil {
		st, err := s.Prepared(text)
		if err != nil {
			return nil, err
		}
		return st.QueryContext(ctx, args...)
	}
	text, args, err := s.bind(text, args)
	if err != nil {
		return nil, err
	}
	rows, err := s.Conn.QueryContext(ctx, text, args...)
	s.failed = s.failed || err != nil
	return rows, err
}

// AskOne runs a statement that returns at most one row.
func (s *Session) AskOne(ctx context.Context, text string, args []any) Scanner {
	if s.stmts != nil {
		st, err := s.Prepared(text)
		if err != nil {
			return NoRow{err}
		}
		return st.QueryRowContext(ctx, args...)
	}
	text, args, err := s.bind(text, args)
	if err != nil {
		return NoRow{err}
	}
	row := s.Conn.QueryRowContext(ctx, text, args...)
	s.failed = s.failed || row.Err() != nil
	return row
}

// bind returns text and parameters of a statement as the driver takes them.
func (s *Session) bind(text string, args []any) (string, []any, error) {
	plain, err := PlainArgs(text, args)
	if err != nil || s.dialect.bind == nil {
		return s.dialect.text(text), plain, err
	}
	return s.dialect.bind(s.dialect.text(text), plain)
}

// Scanner is common to *sql.Row and *sql.Rows.
type Scanner interface {
	Scan(dest ...any) error
}

// NoRow is the row of a statement that could not be run.
type NoRow struct{ Err error }

// Scan implements Scanner.
func (n NoRow) Scan(...any) error { return n.Err }
