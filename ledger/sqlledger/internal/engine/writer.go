package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/lowpriority"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

const (
	// groupMembers and groupTime bound what shares one COMMIT, and so how long the first of
	// a group waits for the last.
	groupMembers = 256
	groupTime    = 10 * time.Millisecond
	// groupWait is how long a group of requests waits at most for as many members as the
	// previous one had before it begins, if those were at least groupCrowd. Then clients are
	// concurrent, and a shared COMMIT saves more than the wait.
	groupWait  = 500 * time.Microsecond
	groupCrowd = 3
	// carefulGroups is how many groups have savepoints after a group that had to be undone for
	// the lack of them. SQLite copies each page that changes after a savepoint.
	carefulGroups = 64
)

// writer runs all writes of a ledger, one at a time, on one connection. Writes that wait at
// the same time share a COMMIT. After one of them had to be undone, each has its own savepoint
// for a while.
type writer struct {
	f       *File
	s       *sqldb.Session // nil after the connection was lost
	queue   *queue
	ended   chan struct{}
	members atomic.Int64
	groups  atomic.Int64
	commits atomic.Int64
	// commit ends a transaction; replaceable by tests.
	commit func(*sqldb.Session) error
	// linger is the wait of a group; replaceable by tests.
	linger    func()
	groupTime time.Duration
	crowd     int   // members of the last group of requests
	careful   int   // how many groups from now on have savepoints
	lost      error // why s could not be reopened
	log       walog
}

func startWriter(f *File, s *sqldb.Session) *writer {
	w := &writer{f: f, s: s, queue: newQueue(), groupTime: cmp.Or(f.e.o.GroupTime, groupTime), ended: make(chan struct{}), log: walog{limit: walLimit, every: walEvery}}
	w.commit = func(s *sqldb.Session) error { return s.Run("COMMIT") }
	w.linger = func() { w.queue.await(w.crowd, groupWait) }
	go w.loop()
	return w
}

// Write implements database.
func (f *File) Write(ctx context.Context, k Kind, j Job) error {
	m := &member{ctx: ctx, Job: j, done: make(chan struct{})}
	if j.Awaited {
		k = Request
	}
	if !f.w.queue.put(k, m) {
		return sqldb.ErrClosed
	}
	select {
	case <-m.done:
	case <-ctx.Done():
		if m.withdraw() {
			return ctx.Err()
		}
		<-m.done
	}
	return m.err
}

// stop ends the writer once the waiting members have run.
func (w *writer) stop() error {
	w.queue.close()
	<-w.ended
	if w.s == nil {
		return w.lost
	}
	_, err := w.s.Conn.ExecContext(context.Background(), saveClock, w.f.clock.saving(w.f.clock.now())...)
	return errors.Join(sqldb.MapError(err), w.s.Close())
}

func (w *writer) loop() {
	defer close(w.ended)
	for {
		k, ok := w.queue.next()
		if !ok {
			return
		}
		if k == Request && w.crowd >= groupCrowd {
			w.linger()
		}
		n := w.turn(k)
		if k == Request {
			w.crowd = n
		}
	}
}

// turn runs one group, and returns how many members it had.
func (w *writer) turn(k Kind) int {
	if w.f.path == Memory {
		w.f.r.memory.Lock()
		defer w.f.r.memory.Unlock()
	}
	w.f.ballast.tend()
	g := &group{w: w, k: k, began: lethe.Awake{}.Now(), high: w.f.clock.high.Load(), careful: w.careful > 0}
	w.careful = max(0, w.careful-1)
	if w.f.e.o.NewGroup != nil {
		g.shared = w.f.e.o.NewGroup()
	}
	err := w.ready()
	if w.f.ballast.give(err) {
		err = w.ready()
	}
	if err != nil {
		g.refuse(err)
		return 0
	}
	if k == Batch {
		lowpriority.Run(g.run)
	} else {
		g.run()
	}
	w.groups.Add(1)
	w.log.ran[k] = true
	w.tend()
	return len(g.ran)
}

// ready makes sure that there is a connection.
func (w *writer) ready() error {
	if w.s != nil {
		return nil
	}
	s, err := w.f.session(context.Background(), w.f.writing())
	if err != nil {
		w.lost = err
		return fmt.Errorf("reopen the ledger: %w", err)
	}
	w.s = s
	return nil
}

// reopen drops a connection in an uncertain state. With a memory database the data would be
// lost, so it only rolls back.
func (w *writer) reopen() {
	if w.s.Run("ROLLBACK"); w.f.path == Memory {
		return
	}
	w.s.Close()
	w.s = nil
}

// runOne runs a member in the current transaction, and reports whether it may have changed
// something. A panic becomes an error.
func (w *writer) runOne(m *member, shared Group) (wrote bool, err error) {
	t := &Tx{ctx: context.Background(), Now: w.f.clock.now(), e: w.f.e, s: w.s, Random: w.f.e.random, Writes: true, By: m.By, Group: shared}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if t.aborted != nil {
			err = t.aborted
		}
		wrote = t.wrote || t.aborted != nil
		w.f.ballast.give(err)
	}()
	w.members.Add(1)
	return false, m.Do(t)
}

// finish saves the clock if due, and commits.
func (w *writer) finish() error {
	c := &w.f.clock
	if high := c.now(); !c.noted || high.Sub(c.saved) >= clockStep {
		st, err := w.s.Prepared(saveClock)
		if err == nil {
			_, err = st.ExecContext(context.Background(), c.saving(high)...)
		}
		if err != nil {
			return sqldb.MapError(err)
		}
		c.saved, c.noted = high, true
	}
	w.commits.Add(1)
	w.f.changes.Add(1)
	defer w.f.changes.Add(1)
	return w.commit(w.s)
}
