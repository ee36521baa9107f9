package sqldb

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lethe-storage/lethe"
)

// Runner runs transactions on a database; it is safe for concurrent use.
type Runner struct {
	Pool    *sql.DB
	Dialect Dialect
	// AcquireTime is the longest wait for a connection.
	AcquireTime time.Duration
	Count       *Counts
	// Commit ends a transaction. Nil sends COMMIT; tests replace it.
	Commit func(ctx context.Context, s *Session) error
	// Looked, if set, is called when a read was answered, and may let it run again; for tests.
	Looked func() error
}

// Counts count transactions since the process began.
type Counts struct{ Members, Commits, Raced, Deadlocks, Torn atomic.Int64 }

// Transaction is a transaction to run.
type Transaction struct {
	// Begin is the text that begins it, with anything else for that round trip.
	Begin string
	// Queue: Begin is a single statement of PostgreSQL, which goes with the first one of Do
	// that is answered.
	Queue bool
	// Longest limits its duration: a server that does not reply must not block callers
	// forever.
	Longest time.Duration
	// Do is its body; began is the last row that Begin returned, if that was not queued. It may be called more than
	// once, and must set its results anew each time.
	Do func(ctx context.Context, s *Session, began []string) error
	// Committed, if set, is called after COMMIT.
	Committed func(ctx context.Context, s *Session)
}

// ErrClosed is returned by calls after Close.
var ErrClosed = fmt.Errorf("the database is closed: %w", lethe.ErrUnavailable)

// outcome is the result of one try of a transaction.
type outcome int

const (
	ended     outcome = iota // with a result, good or bad
	raced                    // rolled back, because another transaction was faster
	waited                   // rolled back, because another transaction locked its rows for too long
	torn                     // the connection broke before COMMIT was sent: rolled back
	unstarted                // the connection was broken before anything was sent
)

// tries counts the tries of a transaction by outcome.
type tries struct{ raced, waited, torn, unstarted int }

const (
	maxRaced  = 14
	maxWaited = 3
	maxTorn   = 3
)

// another reports whether to try again, and after which pause.
func (n *tries) another(f outcome, connections int) (pause time.Duration, again bool) {
	switch f {
	case raced:
		n.raced++
		return jitter(time.Millisecond << min(n.raced, 8)), n.raced < maxRaced
	case waited:
		n.waited++
		return jitter(time.Millisecond << min(n.waited, 8)), n.waited < maxWaited
	case torn:
		n.torn++
		return jitter(50 * time.Millisecond << n.torn), n.torn < maxTorn
	case unstarted:
		// After a restart of the server every idle connection is broken.
		n.unstarted++
		return 0, n.unstarted <= connections+1
	}
	return 0, false
}

// jitter returns between half of d and d, so that transactions that collided do not collide
// again.
func jitter(d time.Duration) time.Duration {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return d/2 + time.Duration(binary.LittleEndian.Uint64(b[:])%uint64(d/2+1))
}

// Write runs a transaction until it is committed, refused, or cannot be done. Once begun it
// does not end with ctx, but by its own limit. ErrUnavailable: it was not done.
// ErrUnknownOutcome: COMMIT was sent, and its reply is lost.
func (r *Runner) Write(ctx context.Context, t Transaction) error {
	return r.repeat(ctx, func() (outcome, error) { return r.try(ctx, t) })
}

// Read runs a read-only transaction; it ends with ctx.
func (r *Runner) Read(ctx context.Context, t Transaction) error {
	return r.repeat(ctx, func() (outcome, error) { return r.readOnce(ctx, t) })
}

// PointRead runs do, which asks outside of a transaction; it ends with ctx.
func (r *Runner) PointRead(ctx context.Context, do func(ctx context.Context, s *Session) error) error {
	return r.repeat(ctx, func() (outcome, error) { return r.pointReadOnce(ctx, do) })
}

func (r *Runner) repeat(ctx context.Context, try func() (outcome, error)) error {
	var n tries
	for {
		f, err := try()
		pause, again := n.another(f, r.Pool.Stats().MaxOpenConnections)
		if !again {
			return r.final(f, err)
		}
		if err := lethe.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// final returns the error for callers.
func (r *Runner) final(f outcome, err error) error {
	switch {
	case err == nil:
		return nil
	case f == torn, f == unstarted:
		return Unreachable(err)
	case f == raced && r.Dialect.Own != nil && mysqlCode(err) == mysqlDuplicate: // it may be in any table, but no race is lost each time
		return MapError(twice{err})
	case errors.Is(err, lethe.ErrUnavailable), errors.Is(err, lethe.ErrCorrupt), errors.Is(err, lethe.ErrInvalidKey):
		return err
	}
	return MapError(err)
}

// Session returns a connection, or waits for one.
func (r *Runner) Session(ctx context.Context) (*Session, error) {
	wait, cancel := context.WithTimeout(ctx, r.AcquireTime)
	defer cancel()
	conn, err := r.Pool.Conn(wait)
	most := r.Pool.Stats().MaxOpenConnections
	switch {
	case err == nil:
		return &Session{Conn: conn, dialect: r.Dialect}, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case strings.Contains(err.Error(), "database is closed"):
		return nil, ErrClosed
	case wait.Err() != nil && r.Pool.Stats().InUse >= most:
		return nil, fmt.Errorf("all %d connections to the database were in use for %s: %w", most, r.AcquireTime, lethe.ErrUnavailable)
	}
	return nil, Unreachable(err)
}

func (r *Runner) try(ctx context.Context, t Transaction) (outcome, error) {
	s, err := r.Session(ctx)
	if err != nil {
		return ended, err
	}
	defer s.Give()
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.Longest)
	defer cancel()
	began, f, err := begin(own, s, t)
	if err != nil {
		return f, err
	}
	r.Count.Members.Add(1)
	if err := t.Do(own, s, began); err != nil {
		return r.failed(own, s, err)
	}
	return r.finish(own, s, t.Committed)
}

// begin begins a transaction in one round trip, or queues its beginning.
func begin(ctx context.Context, s *Session, t Transaction) (began []string, f outcome, err error) {
	if t.Queue {
		s.begin, err = s.Queue(t.Begin, nil)
		return nil, ended, err
	}
	began, err = s.Script(ctx, t.Begin)
	if err == nil {
		return began, ended, nil
	}
	broken := s.Broken()
	s.Undo()
	if broken && ctx.Err() == nil {
		return nil, unstarted, err
	}
	return nil, ended, Unreachable(err)
}

// failed rolls back a transaction before its COMMIT was sent.
func (r *Runner) failed(ctx context.Context, s *Session, err error) (outcome, error) {
	broken := s.Broken()
	if !broken {
		s.Undo()
	}
	switch {
	case broken && s.begin != nil && !s.begin.Answered():
		if ctx.Err() != nil { // the server is silent: more tries would take as long again
			return ended, Unreachable(err)
		}
		return unstarted, err
	case broken, fatal(err):
		r.Count.Torn.Add(1)
		return torn, err
	case r.Dialect.others(err):
		return ended, twice{err}
	case contended(err):
		r.Count.Raced.Add(1)
		if State(err) == deadlock || mysqlCode(err) == mysqlDeadlock {
			r.Count.Deadlocks.Add(1)
		}
		return raced, err
	case State(err) == readOnly:
		s.Discard() // it may only read as long as it lasts, even if the database takes writes again
	case mysqlCode(err) == mysqlLockWait:
		return waited, err // MariaDB can be configured not to detect deadlocks
	}
	return ended, err
}

// finish commits. Only a refusal by the database shows that nothing happened; if the reply
// is lost the outcome is unknown.
func (r *Runner) finish(ctx context.Context, s *Session, committed func(context.Context, *Session)) (outcome, error) {
	if s.failed {
		s.Undo()
		return ended, errRolledBack
	}
	commit := r.Commit
	if commit == nil {
		commit = func(ctx context.Context, s *Session) error { return s.Commit(ctx) }
	}
	err := commit(ctx, s)
	if queued := (queuedError{}); errors.As(err, &queued) {
		return r.failed(ctx, s, queued.error) // COMMIT was not done
	}
	r.Count.Commits.Add(1)
	switch {
	case errors.Is(err, errRolledBack):
		return ended, err
	case err != nil && (pgconn.SafeToRetry(err) || errors.Is(err, driver.ErrBadConn)):
		return torn, err
	case err != nil && refusal(err) && !s.Broken():
		return r.failed(ctx, s, err)
	case err != nil:
		s.Discard()
		// Not ErrUnavailable as well: that means that nothing happened.
		return ended, fmt.Errorf("%w: COMMIT was sent: %v", lethe.ErrUnknownOutcome, Unreachable(err))
	}
	if committed != nil {
		committed(ctx, s)
	}
	return ended, nil
}

func (r *Runner) readOnce(ctx context.Context, t Transaction) (outcome, error) {
	s, err := r.Session(ctx)
	if err != nil {
		return ended, err
	}
	defer s.Give()
	began, f, err := begin(ctx, s, t)
	if err == nil {
		err = r.looked(t.Do(ctx, s, began))
		if err == nil {
			s.Undo()
			return ended, nil
		}
		f, err = r.failed(ctx, s, err)
	}
	if ctx.Err() != nil {
		return ended, ctx.Err()
	}
	return f, err
}

func (r *Runner) pointReadOnce(ctx context.Context, do func(ctx context.Context, s *Session) error) (outcome, error) {
	s, err := r.Session(ctx)
	if err != nil {
		return ended, err
	}
	defer s.Give()
	err = r.looked(do(ctx, s))
	switch {
	case err == nil:
		return ended, nil
	case ctx.Err() != nil:
		return ended, ctx.Err()
	case s.Broken(), fatal(err):
		return unstarted, err
	case contended(err):
		return raced, err
	}
	return ended, err
}

func (r *Runner) looked(err error) error {
	if err == nil && r.Looked != nil {
		return r.Looked()
	}
	return err
}
