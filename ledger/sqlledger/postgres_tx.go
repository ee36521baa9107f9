package sqlledger

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/lethe-storage/lethe/internal/sqldb"
)

// run implements engine: it retries the job until it is committed, refused, or cannot be
// done. ErrUnavailable: it was not done.
func (e *server) run(ctx context.Context, k kind, j job) error {
	j.random = &replay{r: e.db.random}
	var t *tx
	return e.runners[k].Write(ctx, sqldb.Transaction{
		Begin:   e.texts[k].write,
		Longest: e.longest(k),
		Do: func(ctx context.Context, s *sqldb.Session, began []string) (err error) {
			if t, err = e.begun(ctx, s, began); err != nil {
				return err
			}
			j.random.rewind()
			t.writes, t.random, t.by = true, j.random, j.by
			return runJob(t, j)
		},
		Committed: func(ctx context.Context, s *sqldb.Session) {
			if e.db.moved != nil && len(t.counts.moves) > 0 {
				e.db.moved(t.counts.moves.list())
			}
			e.save(ctx, s, t.now)
		},
	})
}

// longest returns how long a transaction may take.
func (e *server) longest(k kind) time.Duration {
	d := 2 * e.o.StatementTime
	if k == batch {
		d *= 10
	}
	return d
}

// begun returns a transaction with the time that its beginning returned.
func (e *server) begun(ctx context.Context, s *sqldb.Session, began []string) (*tx, error) {
	now, err := e.clock.read(began)
	if err != nil {
		return nil, err
	}
	return &tx{ctx: ctx, now: now, db: e.db, s: s}, nil
}

// runJob runs the job and writes its counters. A panic becomes an error.
func runJob(t *tx, j job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if err == nil {
			err = t.spoilt
		}
	}()
	if err := j.fn(t); err != nil {
		return err
	}
	return t.counts.flush(t)
}

// view implements engine.
func (e *server) view(ctx context.Context, k kind, fn func(*tx) error) error {
	text := e.texts[k].read
	if k == batch {
		text = e.texts[k].walk
	}
	return e.runners[k].Read(ctx, sqldb.Transaction{
		Begin: text,
		Do: func(ctx context.Context, s *sqldb.Session, began []string) error {
			t, err := e.begun(ctx, s, began)
			if err != nil {
				return err
			}
			return fn(t)
		},
	})
}
