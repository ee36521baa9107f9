package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"
)

// Session is one connection, with the statements prepared on it. One goroutine at
// a time uses it.
type Session struct {
	Conn    *sql.Conn
	dialect Dialect
	stmts   map[string]*sql.Stmt // nil: none are kept
	// failed: a statement of a Runner's transaction failed. MariaDB may have undone all of
	// it, and would commit what came after.
	failed bool
}

// NewSession makes a session of a connection that keeps the statements it has run,
// until Close.
func NewSession(conn *sql.Conn, d Dialect) *Session {
	return &Session{Conn: conn, dialect: d, stmts: map[string]*sql.Stmt{}}
}

// Prepared returns the statement of a text, compiled once for each connection.
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

// Run runs a statement of SQLite outside of every caller's context.
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

// rollbackTime is how long a transaction that failed may take to end.
const rollbackTime = 5 * time.Second

// Script runs a text of one or several statements in one round trip. It returns the
// last row that the last of them answers, nil if it answers none.
func (s *Session) Script(ctx context.Context, text string) (last []string, err error) {
	return s.dialect.wire.script(ctx, s.Conn, text)
}

// Broken reports whether the connection is gone.
func (s *Session) Broken() bool { return s.dialect.wire.broken(s.Conn) }

// Undo ends a transaction that failed.
func (s *Session) Undo() {
	ctx, cancel := context.WithTimeout(context.Background(), rollbackTime)
	defer cancel()
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

// Execute runs a statement that answers no rows.
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

// Ask runs a statement that answers rows.
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

// AskOne runs a statement that answers at most one row.
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

// bind makes what the driver takes of a statement.
func (s *Session) bind(text string, args []any) (string, []any, error) {
	plain, err := PlainArgs(text, args)
	if err != nil || s.dialect.bind == nil {
		return s.dialect.text(text), plain, err
	}
	return s.dialect.bind(s.dialect.text(text), plain)
}

// Scanner is what *sql.Row and *sql.Rows have in common.
type Scanner interface {
	Scan(dest ...any) error
}

// NoRow is the answer of a statement that could not be run.
type NoRow struct{ Err error }

// Scan implements Scanner.
func (n NoRow) Scan(...any) error { return n.Err }
