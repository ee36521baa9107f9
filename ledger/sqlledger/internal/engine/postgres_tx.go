package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// Write implements database: it retries the job until it is committed, refused, or cannot be
// done. ErrUnavailable: it was not done.
func (p *Server) Write(ctx context.Context, k Kind, j Job) error {
	random := &replay{r: p.e.random}
	var now lethe.Time
	err := p.Runners[k].Write(ctx, sqldb.Transaction{
		Begin:   p.texts[k].write,
		Queue:   p.texts[k].clock != "",
		Longest: p.longest(k),
		Do: func(ctx context.Context, s *sqldb.Session, began []string) error {
			t, err := p.begun(ctx, s, began, j.Asks)
			if err != nil {
				return err
			}
			random.rewind()
			t.Writes, t.Random, t.By = true, random, j.By
			err = runJob(t, j)
			now = t.Now
			return err
		},
		Committed: func(ctx context.Context, s *sqldb.Session) {
			if j.Committed != nil {
				j.Committed()
			}
			p.save(ctx, s, now)
		},
	})
	p.refused.note(lethe.Monotonic{}.Now(), err)
	return err
}

// longest returns how long a transaction may take.
func (p *Server) longest(k Kind) time.Duration {
	d := 2 * p.o.StatementTime
	if k == Batch {
		d *= 10
	}
	return d
}

// begun returns a transaction with the time that its beginning returned, or that it asks for,
// or that comes with the answer of its first question.
func (p *Server) begun(ctx context.Context, s *sqldb.Session, began []string, asks bool) (t *Tx, err error) {
	t = &Tx{ctx: ctx, e: p.e, s: s}
	switch {
	case began != nil:
		t.Now, err = p.clock.read(began)
	case asks:
		t.clock, err = s.Queue(p.texts[Request].clock, nil)
	default:
		t.Now, err = p.clock.from(s.AskOne(ctx, p.texts[Request].clock, nil))
	}
	return t, err
}

// runJob runs the job. A panic becomes an error.
func runJob(t *Tx, j Job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if err == nil {
			err = t.aborted
		}
	}()
	return j.Do(t)
}

// View implements database.
func (p *Server) View(ctx context.Context, k Kind, fn func(*Tx) error) error {
	begin := sqldb.Transaction{Begin: p.texts[k].read, Queue: p.texts[k].clock != ""}
	if k == Batch {
		begin = sqldb.Transaction{Begin: p.texts[k].walk}
	}
	begin.Do = func(ctx context.Context, s *sqldb.Session, began []string) error {
		t, err := p.begun(ctx, s, began, false)
		if err != nil {
			return err
		}
		return fn(t)
	}
	return p.Runners[k].Read(ctx, begin)
}

// PointRead implements database. Behind a pooler settings last as long as a transaction, so there
// has to be one.
func (p *Server) PointRead(ctx context.Context, fn func(*Tx) error) error {
	text := p.texts[Request].clock
	if text == "" {
		return p.View(ctx, Request, fn)
	}
	return p.Runners[Request].PointRead(ctx, func(ctx context.Context, s *sqldb.Session) error {
		time, err := s.Queue(text, nil)
		if err != nil {
			return err
		}
		return fn(&Tx{ctx: ctx, e: p.e, s: s, clock: time})
	})
}

// manyRows is the number of rows from which it pays to keep the plans of foreign key checks:
// two short statements against one plan per row.
const manyRows = 16

// KeepChecks runs fn, which deletes n rows that others may refer to, with cached plans for
// foreign key checks. Routines' connections have every statement planned again. PostgreSQL
// applies that to its own checks as well, whose planning took four fifths of the time to drop
// contents. They look one row up by an index, so their plan suits any table.
func (t *Tx) KeepChecks(n int, fn func() error) error {
	if t.e.Server == nil || n < manyRows {
		return fn()
	}
	if _, err := t.Send("SET LOCAL plan_cache_mode = auto"); err != nil {
		return err
	}
	if err := fn(); err != nil {
		return err
	}
	_, err := t.Send("SET LOCAL plan_cache_mode TO DEFAULT")
	return err
}
