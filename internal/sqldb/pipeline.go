package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
)

// OpenPostgres returns a pool of connections to PostgreSQL, whose sessions have a queue.
func OpenPostgres(config *pgx.ConnConfig) *sql.DB {
	return sql.OpenDB(connector{stdlib.GetConnector(*config)})
}

type connector struct{ driver.Connector }

// Connect implements driver.Connector.
func (p connector) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &pipeline{Conn: c.(*stdlib.Conn)}, nil
}

// Queued is a statement of PostgreSQL that waits for the next one that is answered.
type Queued struct {
	// Rows is the number of rows that it changed or returned. The next answer sets it.
	Rows int64

	answered bool
	first    []driver.Value // nil: it returned no row
	text     string
	args     []any
	refused  error // of a guard that found another number of rows
}

// Queue queues a statement. It goes to the server in one round trip with the next one that
// is answered, or with COMMIT. If it fails, that one returns its error, and the server runs
// nothing that follows. A rollback drops it.
func (s *Session) Queue(text string, args []any) (*Queued, error) {
	return s.queue(Queued{text: text, args: args})
}

// Send is Queue on PostgreSQL, and runs the statement on other databases.
func (s *Session) Send(ctx context.Context, text string, args []any) error {
	if _, queues := s.dialect.wire.(pgWire); queues {
		_, err := s.Queue(text, args)
		return err
	}
	_, err := s.Execute(ctx, text, args)
	return err
}

// Guard queues a statement that has to change n rows, or to lock them. If it does not, it
// fails with refused, at the server, so that COMMIT does nothing.
func (s *Session) Guard(n int64, refused error, text string, args []any) error {
	_, err := s.queue(Queued{text: guarded(text, len(args)+1), args: append(slices.Clone(args), n), refused: refused})
	return err
}

func (s *Session) queue(q Queued) (_ *Queued, err error) {
	if q.text, q.args, err = s.bind(q.text, q.args); err != nil {
		return nil, err
	}
	return &q, rawPostgres(s.Conn, func(p *pipeline) error {
		p.queue = append(p.queue, &q)
		return nil
	})
}

// Answered reports whether the statement was answered.
func (q *Queued) Answered() bool { return q.answered }

// Scan returns the first row that the answered statement returned, or sql.ErrNoRows.
func (q *Queued) Scan(dest ...any) error {
	switch {
	case !q.answered:
		return errors.New("the statement is not answered yet")
	case q.first == nil:
		return sql.ErrNoRows
	case len(q.first) != len(dest):
		return fmt.Errorf("%d columns for %d values", len(q.first), len(dest))
	}
	for i, v := range q.first {
		if err := assign(dest[i], v); err != nil {
			return fmt.Errorf("column %d: %w", i, err)
		}
	}
	return nil
}

// assign stores a value as database/sql does.
func assign(dest any, v driver.Value) error {
	if s, ok := dest.(sql.Scanner); ok {
		return s.Scan(v)
	}
	to := reflect.ValueOf(dest).Elem()
	var text sql.NullString
	var number sql.NullInt64
	var truth sql.NullBool
	switch kind := to.Kind(); {
	case v == nil && kind != reflect.Slice:
		return errors.New("NULL has no value of the type")
	case kind == reflect.String:
		err := text.Scan(v)
		to.SetString(text.String)
		return err
	case to.CanInt():
		err := number.Scan(v)
		to.SetInt(number.Int64)
		return err
	case kind == reflect.Bool:
		err := truth.Scan(v)
		to.SetBool(truth.Bool)
		return err
	case kind == reflect.Slice:
		b, _ := v.([]byte)
		to.SetBytes(b)
		return nil
	}
	return fmt.Errorf("a value of type %T for one of type %T", v, dest)
}

// guardText is in the error of a guard that finds another number of rows.
const guardText = "rows of a guarded statement: "

// guarded returns a statement that fails unless text changes or locks as many rows as the
// parameter says. The number is not in the text, which is prepared once.
func guarded(text string, param int) string {
	if !strings.HasPrefix(text, "SELECT") {
		text += " RETURNING 1"
	}
	return fmt.Sprintf(`WITH guarded AS (%s)
		SELECT CASE WHEN count(*) <> CAST(?%d AS BIGINT) THEN CAST('%s' || count(*) AS BIGINT) END FROM guarded`, text, param, guardText)
}

// queuedError is the error of a queued statement: what was sent after it was not done.
type queuedError struct{ error }

// Unwrap returns the error itself.
func (e queuedError) Unwrap() error { return e.error }

// failed returns the error of the statement.
func (q *Queued) failed(err error) error {
	switch {
	case q.refused != nil && isGuard(err):
		return queuedError{q.refused}
	case refusal(err):
		return queuedError{err}
	case pgconn.SafeToRetry(err):
		return driver.ErrBadConn // as database/sql's drivers say that nothing was sent
	}
	return err
}

// pipeline is a connection with a queue.
type pipeline struct {
	*stdlib.Conn
	queue []*Queued
}

// ResetSession implements driver.SessionResetter: the next session's queue is empty, whatever
// the last one left.
func (p *pipeline) ResetSession(ctx context.Context) error {
	p.queue = nil
	return p.Conn.ResetSession(ctx)
}

// IsValid implements driver.Validator: a connection that broke is not given to one who waits.
func (p *pipeline) IsValid() bool { return !p.Conn.Conn().IsClosed() }

// QueryContext implements driver.QueryerContext.
func (p *pipeline) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if len(p.queue) == 0 {
		return p.Conn.QueryContext(ctx, query, args)
	}
	results, err := p.flush(ctx, query, plainValues(args))
	if err != nil {
		return nil, err
	}
	rows, err := results.Query()
	if err != nil {
		results.Close()
		return nil, err
	}
	return &answer{rows, p.Conn.Conn().TypeMap(), results}, nil
}

// ExecContext implements driver.ExecerContext.
func (p *pipeline) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if len(p.queue) == 0 {
		return p.Conn.ExecContext(ctx, query, args)
	}
	tag, err := p.last(ctx, query, plainValues(args))
	return driver.RowsAffected(tag.RowsAffected()), err
}

func plainValues(args []driver.NamedValue) []any {
	out := make([]any, len(args))
	for i, a := range args {
		out[i] = a.Value
	}
	return out
}

// last sends the queue with a statement that returns no rows.
func (p *pipeline) last(ctx context.Context, query string, args []any) (pgconn.CommandTag, error) {
	results, err := p.flush(ctx, query, args)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	tag, err := results.Exec()
	return tag, cmp.Or(err, results.Close())
}

// flush sends the queue and one more statement, whose result is left to the caller.
func (p *pipeline) flush(ctx context.Context, query string, args []any) (pgx.BatchResults, error) {
	if p.Conn.Conn().IsClosed() {
		return nil, driver.ErrBadConn
	}
	queue := p.queue
	p.queue = nil
	var b pgx.Batch
	for _, q := range queue {
		b.Queue(q.text, q.args...)
	}
	b.Queue(query, args...)
	results := p.Conn.Conn().SendBatch(ctx, &b)
	for _, q := range queue {
		if err := q.read(results, p.Conn.Conn().TypeMap()); err != nil {
			results.Close()
			return nil, q.failed(err)
		}
	}
	return results, nil
}

// read takes the statement's result.
func (q *Queued) read(results pgx.BatchResults, types *pgtype.Map) error {
	rows, err := results.Query()
	if err != nil {
		return err
	}
	first := make([]driver.Value, len(rows.FieldDescriptions()))
	switch err := (&answer{rows, types, nil}).Next(first); err {
	case nil:
		q.first = first
	case io.EOF:
	default:
		rows.Close()
		return err
	}
	rows.Close()
	q.answered, q.Rows = true, rows.CommandTag().RowsAffected()
	return rows.Err()
}

// commit sends the queue with COMMIT.
func (p *pipeline) commit(ctx context.Context) error {
	tag, err := p.last(ctx, "COMMIT", nil)
	if err == nil && tag.String() != "COMMIT" {
		err = errRolledBack
	}
	return err
}

// answer is the rows of a statement that was sent with the queue.
type answer struct {
	pgx.Rows
	types   *pgtype.Map
	results pgx.BatchResults
}

// Columns implements driver.Rows.
func (a *answer) Columns() []string {
	fields := a.FieldDescriptions()
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.Name
	}
	return out
}

// Next implements driver.Rows.
func (a *answer) Next(dest []driver.Value) (err error) {
	if !a.Rows.Next() {
		return cmp.Or(a.Err(), io.EOF)
	}
	fields := a.FieldDescriptions()
	for i, raw := range a.RawValues() {
		if dest[i] = nil; raw == nil {
			continue
		}
		of := fields[i].DataTypeOID
		if t, known := a.types.TypeForOID(of); !known {
			dest[i] = string(raw)
		} else if dest[i], err = t.Codec.DecodeDatabaseSQLValue(a.types, of, fields[i].Format, raw); err != nil {
			return fmt.Errorf("column %s: %w", fields[i].Name, err)
		}
	}
	return nil
}

// Close implements driver.Rows.
func (a *answer) Close() error {
	a.Rows.Close()
	return a.results.Close()
}
