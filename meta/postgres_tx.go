package meta

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lethe-storage/lethe"
)

// fate is what became of one try of a transaction.
type fate int

const (
	ended     fate = iota // with its answer, good or bad
	raced                 // undone, because another transaction was faster
	torn                  // the connection broke before COMMIT was sent: undone
	unstarted             // the connection was broken before anything was sent
)

// tries counts what a write has been through.
type tries struct{ raced, torn, unstarted int }

const (
	maxRaced = 14
	maxTorn  = 3
)

// another says whether to try again, and after which pause.
func (n *tries) another(f fate, connections int) (pause time.Duration, again bool) {
	switch f {
	case raced:
		n.raced++
		return jitter(time.Millisecond << min(n.raced, 8)), n.raced < maxRaced
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

// run implements engine: it runs the job until it is done, refused, or not to be
// done. ErrUnavailable: it was not done.
func (e *server) run(ctx context.Context, k kind, j job) error {
	var n tries
	j.random = &replay{r: e.db.random}
	for {
		j.random.rewind()
		f, err := e.try(ctx, k, j)
		pause, again := n.another(f, e.pools[k].Stats().MaxOpenConnections)
		if !again {
			return e.final(f, err)
		}
		if err := lethe.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// final is the error that callers see.
func (e *server) final(f fate, err error) error {
	switch {
	case err == nil:
		return nil
	case f == torn, f == unstarted:
		return unreachable(err)
	case errors.Is(err, lethe.ErrUnavailable), errors.Is(err, lethe.ErrCorrupt), errors.Is(err, lethe.ErrInvalidKey):
		return err
	}
	return mapServerError(err)
}

// try runs the job in one transaction. Once that has begun it does not end with
// ctx, but in its own time.
func (e *server) try(ctx context.Context, k kind, j job) (fate, error) {
	s, err := e.session(ctx, k)
	if err != nil {
		return ended, err
	}
	defer s.give()
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.longest(k))
	defer cancel()
	t, f, err := e.begin(own, s, e.texts[k].write)
	if err != nil {
		return f, err
	}
	t.writes, t.random, t.by = true, j.random, j.by
	e.count.members.Add(1)
	if err := runJob(t, j); err != nil {
		return e.failed(s, err)
	}
	return e.finish(own, t)
}

// longest is how long a transaction may take: a server that does not answer must
// not hold its callers for ever.
func (e *server) longest(k kind) time.Duration {
	d := 2 * e.o.StatementTime
	if k == batch {
		d *= 10
	}
	return d
}

// begin begins a transaction and takes its time, in one round trip.
func (e *server) begin(ctx context.Context, s *session, text string) (*tx, fate, error) {
	results, err := s.simple(ctx, text)
	if err != nil {
		broken := s.broken()
		s.undo()
		if broken && ctx.Err() == nil {
			return nil, unstarted, err
		}
		return nil, ended, unreachable(err)
	}
	now, err := e.clock.read(results)
	if err != nil {
		s.undo()
		return nil, ended, err
	}
	return &tx{ctx: ctx, now: now, db: e.db, s: s}, ended, nil
}

// runJob runs the job and writes what it counted. A panic becomes an error.
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

// failed undoes a transaction before its COMMIT was sent.
func (e *server) failed(s *session, err error) (fate, error) {
	broken := s.broken()
	if !broken {
		s.undo()
	}
	switch {
	case broken, fatal(err):
		e.count.torn.Add(1)
		return torn, err
	case contended(err):
		e.count.raced.Add(1)
		if sqlState(err) == deadlock {
			e.count.deadlocks.Add(1)
		}
		return raced, err
	}
	return ended, err
}

// finish commits. Only the server's own refusal says that nothing happened; an
// answer that is lost leaves the outcome unknown.
func (e *server) finish(ctx context.Context, t *tx) (fate, error) {
	results, err := e.commit(ctx, t.s)
	e.count.commits.Add(1)
	switch {
	case err != nil && pgconn.SafeToRetry(err):
		return torn, err
	case err != nil && refusal(err) && !t.s.broken():
		return e.failed(t.s, err)
	case err != nil:
		t.s.discard()
		// Not ErrUnavailable as well: that says that nothing happened.
		return ended, fmt.Errorf("%w: COMMIT was sent: %v", lethe.ErrUnknownOutcome, unreachable(err))
	case len(results) != 1 || results[0].CommandTag.String() != "COMMIT":
		return ended, fmt.Errorf("the transaction had failed before its end: %w", lethe.ErrUnavailable)
	}
	if e.db.moved != nil && len(t.counts.moves) > 0 {
		e.db.moved(t.counts.moves.list())
	}
	e.save(ctx, t.s, t.now)
	return ended, nil
}

// view implements engine.
func (e *server) view(ctx context.Context, k kind, fn func(*tx) error) error {
	var n tries
	for {
		f, err := e.viewOnce(ctx, k, fn)
		pause, again := n.another(f, e.pools[k].Stats().MaxOpenConnections)
		if !again {
			return e.final(f, err)
		}
		if err := lethe.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

func (e *server) viewOnce(ctx context.Context, k kind, fn func(*tx) error) (fate, error) {
	s, err := e.session(ctx, k)
	if err != nil {
		return ended, err
	}
	defer s.give()
	text := e.texts[k].read
	if k == batch {
		text = e.texts[k].walk
	}
	t, f, err := e.begin(ctx, s, text)
	if err == nil {
		err = fn(t)
		if err == nil {
			s.undo()
			return ended, nil
		}
		f, err = e.failed(s, err)
	}
	if ctx.Err() != nil {
		return ended, ctx.Err()
	}
	return f, err
}
