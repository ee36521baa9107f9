package meta

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// rollbackTime is how long a transaction that failed may take to end.
const rollbackTime = 5 * time.Second

// simple sends a text of one or several statements in one round trip, and answers
// the results of each.
func (s *session) simple(ctx context.Context, text string) (out []*pgconn.Result, err error) {
	rerr := s.raw(func(c *pgx.Conn) error {
		out, err = c.PgConn().Exec(ctx, text).ReadAll()
		return nil
	})
	if err == nil {
		err = rerr
	}
	for _, r := range out {
		if err == nil {
			err = r.Err
		}
	}
	return out, err
}

func (s *session) raw(fn func(*pgx.Conn) error) error {
	return s.conn.Raw(func(dc any) error {
		c, ok := dc.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("a connection of type %T", dc)
		}
		return fn(c.Conn())
	})
}

// broken says that the connection is gone.
func (s *session) broken() bool {
	closed := true
	err := s.raw(func(c *pgx.Conn) error {
		closed = c.IsClosed()
		return nil
	})
	return err != nil || closed
}

// undo ends a transaction that failed.
func (s *session) undo() {
	ctx, cancel := context.WithTimeout(context.Background(), rollbackTime)
	defer cancel()
	if _, err := s.simple(ctx, "ROLLBACK"); err != nil {
		s.discard()
	}
}

// discard closes the connection instead of keeping it.
func (s *session) discard() {
	_ = s.conn.Raw(func(any) error { return driver.ErrBadConn })
}

// give returns the connection to its pool.
func (s *session) give() {
	if err := s.conn.Close(); err != nil && !errors.Is(err, sql.ErrConnDone) {
		s.discard()
	}
}

// execute runs a statement that answers no rows.
func (s *session) execute(ctx context.Context, text string, args []any) (sql.Result, error) {
	if s.dialect.alone {
		st, err := s.prepared(text)
		if err != nil {
			return nil, err
		}
		return st.ExecContext(ctx, args...)
	}
	plain, err := plainArgs(text, args)
	if err != nil {
		return nil, err
	}
	return s.conn.ExecContext(ctx, postgresText(text), plain...)
}

// ask runs a statement that answers rows.
func (s *session) ask(ctx context.Context, text string, args []any) (*sql.Rows, error) {
	if s.dialect.alone {
		st, err := s.prepared(text)
		if err != nil {
			return nil, err
		}
		return st.QueryContext(ctx, args...)
	}
	plain, err := plainArgs(text, args)
	if err != nil {
		return nil, err
	}
	return s.conn.QueryContext(ctx, postgresText(text), plain...)
}

// askOne runs a statement that answers at most one row.
func (s *session) askOne(ctx context.Context, text string, args []any) scanner {
	if s.dialect.alone {
		st, err := s.prepared(text)
		if err != nil {
			return noRow{err}
		}
		return st.QueryRowContext(ctx, args...)
	}
	plain, err := plainArgs(text, args)
	if err != nil {
		return noRow{err}
	}
	return s.conn.QueryRowContext(ctx, postgresText(text), plain...)
}
