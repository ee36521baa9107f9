package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
)

// wire is what database/sql lacks for a connection.
type wire interface {
	// script runs one or several statements in one round trip. It returns the last row of
	// the last statement, nil if that returns none.
	script(ctx context.Context, c *sql.Conn, text string) ([]string, error)
	// commit ends a transaction. It fails with errRolledBack.
	commit(ctx context.Context, c *sql.Conn) error
	// drop forgets what is queued.
	drop(c *sql.Conn)
	// idle reports whether it is known that no transaction is in progress.
	idle(c *sql.Conn) bool
	// broken reports whether the connection is gone.
	broken(c *sql.Conn) bool
}

// errRolledBack is returned when COMMIT rolled back.
var errRolledBack = fmt.Errorf("the transaction had failed before its end: %w", lethe.ErrUnavailable)

// pgWire uses PostgreSQL's simple protocol: all statements in one message.
type pgWire struct{}

func (pgWire) script(ctx context.Context, c *sql.Conn, text string) (last []string, err error) {
	rerr := rawPostgres(c, func(p *pipeline) error {
		if len(p.queue) > 0 {
			return errors.New("a script would overtake the queue")
		}
		results, rerr := p.Conn.Conn().PgConn().Exec(ctx, text).ReadAll()
		err = rerr
		for _, r := range results {
			last = nil
			if err == nil {
				err = r.Err
			}
			if n := len(r.Rows); n > 0 {
				for _, v := range r.Rows[n-1] {
					last = append(last, string(v))
				}
			}
		}
		return nil
	})
	if err == nil {
		err = rerr
	}
	return last, err
}

func (pgWire) commit(ctx context.Context, c *sql.Conn) (err error) {
	rerr := rawPostgres(c, func(p *pipeline) error {
		err = p.commit(ctx)
		return nil
	})
	if err == nil {
		err = rerr
	}
	return err
}

func (pgWire) drop(c *sql.Conn) {
	_ = rawPostgres(c, func(p *pipeline) error {
		p.queue = nil
		return nil
	})
}

func (pgWire) idle(c *sql.Conn) (idle bool) {
	_ = rawPostgres(c, func(p *pipeline) error {
		idle = p.Conn.Conn().PgConn().TxStatus() == 'I'
		return nil
	})
	return idle
}

func (pgWire) broken(c *sql.Conn) bool {
	closed := true
	err := rawPostgres(c, func(p *pipeline) error {
		closed = p.Conn.Conn().IsClosed()
		return nil
	})
	return err != nil || closed
}

func rawPostgres(c *sql.Conn, fn func(*pipeline) error) error {
	return c.Raw(func(dc any) error {
		p, ok := dc.(*pipeline)
		if !ok {
			return fmt.Errorf("a connection of type %T has no queue", dc)
		}
		return fn(p)
	})
}

// sqlWire uses database/sql alone; the driver runs several statements in one call.
type sqlWire struct{}

func (sqlWire) script(ctx context.Context, c *sql.Conn, text string) (last []string, err error) {
	rows, err := c.QueryContext(ctx, text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for more := true; more; more = rows.NextResultSet() {
		last = nil
		columns, err := rows.Columns()
		if err != nil {
			return nil, err
		}
		for rows.Next() {
			last = make([]string, len(columns))
			dest := make([]any, len(columns))
			for i := range dest {
				dest[i] = &last[i]
			}
			if err := rows.Scan(dest...); err != nil {
				return nil, err
			}
		}
	}
	return last, rows.Err()
}

func (sqlWire) commit(ctx context.Context, c *sql.Conn) error {
	_, err := c.ExecContext(ctx, "COMMIT")
	return err
}

func (sqlWire) drop(*sql.Conn) {}

func (sqlWire) idle(*sql.Conn) bool { return false }

func (sqlWire) broken(c *sql.Conn) bool {
	return c.Raw(func(any) error { return nil }) != nil
}
