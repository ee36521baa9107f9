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

// Runner runs transactions on a database, any number at once.
type Runner struct {
	Pool    *sql.DB
	Dialect Dialect
	// AcquireTime is the longest wait for a connection.
	AcquireTime time.Duration
	Count       *Counts
	// Commit ends a transaction. Nil sends COMMIT; a test makes it fail.
	Commit func(ctx context.Context, s *Session) error
}

// Counts are of transactions since the process began.
type Counts struct{ Members, Commits, Raced, Deadlocks, Torn atomic.Int64 }

// Transaction is one to be run.
type Transaction struct {
	// Begin is the text that begins it, with whatever else is to go in that round trip.
	Begin string
	// Longest is how long it may take: a server that does not answer must not hold
	// its callers forever.
	Longest time.Duration
	// Do is what happens in it, given the last row that Begin answered. It may be called
	// more than once, and sets its results anew each time.
	Do func(ctx context.Context, s *Session, began []string) error
	// Committed, if set, is called after COMMIT.
	Committed func(ctx context.Context, s *Session)
}

// ErrClosed is the error of calls after Close.
var ErrClosed = fmt.Errorf("the database is closed: %w", lethe.ErrUnavailable)

// outcome is what became of one try of a transaction.
type outcome int

const (
	ended     outcome = iota // with its answer, good or bad
	raced                    // undone, because another transaction was faster
	waited                   // undone, because another transaction held its rows for too long
	torn                     // the connection broke before COMMIT was sent: undone
	unstarted                // the connection was broken before anything was sent
)

// tries counts what a transaction has been through.
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
		// After a restart of the server every idle connection turns out broken.
		n.unstarted++
		return 0, n.unstarted <= connections+1
	}
	return 0, false
}

// jitter is between half of d and d, so that those who met do not meet again.
func jitter(d time.Duration) time.Duration {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return d/2 + time.Duration(binary.LittleEndian.Uint64(b[:])%uint64(d/2+1))
}

// Write runs a transaction until it is done, refused, or not to be done. Once it has
// begun it does not end with ctx, but in its own time. ErrUnavailable: it was not
// done. ErrUnknownOutcome: COMMIT was sent, and its answer is lost.
func (r *Runner) Write(ctx context.Context, t Transaction) error {
	return r.repeat(ctx, func() (outcome, error) { return r.try(ctx, t) })
}

// Read runs a read-only transaction; it ends with ctx.
func (r *Runner) Read(ctx context.Context, t Transaction) error {
	return r.repeat(ctx, func() (outcome, error) { return r.readOnce(ctx, t) })
}

func (r *Runner) repeat(ctx context.Context, try func() (outcome, error)) error {
	var n tries
	for {
		f, err := try()
		pause, again := n.another(f, r.Pool.Stats().MaxOpenConnections)
		if !again {
			return final(f, err)
		}
		if err := lethe.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// final is the error that callers see.
func final(f outcome, err error) error {
	switch {
	case err == nil:
		return nil
	case f == torn, f == unstarted:
		return Unreachable(err)
	case errors.Is(err, lethe.ErrUnavailable), errors.Is(err, lethe.ErrCorrupt), errors.Is(err, lethe.ErrInvalidKey):
		return err
	}
	return MapError(err)
}

// Session takes a connection, or waits for one.
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
	began, f, err := begin(own, s, t.Begin)
	if err != nil {
		return f, err
	}
	r.Count.Members.Add(1)
	if err := t.Do(own, s, began); err != nil {
		return r.failed(s, err)
	}
	return r.finish(own, s, t.Committed)
}

// begin begins a transaction, in one round trip.
func begin(ctx context.Context, s *Session, text string) ([]string, outcome, error) {
	began, err := s.Script(ctx, text)
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

// failed undoes a transaction before its COMMIT was sent.
func (r *Runner) failed(s *Session, err error) (outcome, error) {
	broken := s.Broken()
	if !broken {
		s.Undo()
	}
	switch {
	case broken, fatal(err):
		r.Count.Torn.Add(1)
		return torn, err
	case contended(err):
		r.Count.Raced.Add(1)
		if State(err) == deadlock || mysqlCode(err) == mysqlDeadlock {
			r.Count.Deadlocks.Add(1)
		}
		return raced, err
	case mysqlCode(err) == mysqlLockWait:
		return waited, err // MariaDB finds no deadlock if it is told not to look
	}
	return ended, err
}

// finish commits. Only the database's own refusal says that nothing happened; an
// answer that is lost leaves the outcome unknown.
func (r *Runner) finish(ctx context.Context, s *Session, committed func(context.Context, *Session)) (outcome, error) {
	if s.failed {
		s.Undo()
		return ended, errRolledBack
	}
	commit := r.Commit
	if commit == nil {
		commit = func(ctx context.Context, s *Session) error { return s.dialect.wire.commit(ctx, s.Conn) }
	}
	err := commit(ctx, s)
	r.Count.Commits.Add(1)
	switch {
	case errors.Is(err, errRolledBack):
		return ended, err
	case err != nil && (pgconn.SafeToRetry(err) || errors.Is(err, driver.ErrBadConn)):
		return torn, err
	case err != nil && refusal(err) && !s.Broken():
		return r.failed(s, err)
	case err != nil:
		s.Discard()
		// Not ErrUnavailable as well: that says that nothing happened.
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
	began, f, err := begin(ctx, s, t.Begin)
	if err == nil {
		err = t.Do(ctx, s, began)
		if err == nil {
			s.Undo()
			return ended, nil
		}
		f, err = r.failed(s, err)
	}
	if ctx.Err() != nil {
		return ended, ctx.Err()
	}
	return f, err
}
