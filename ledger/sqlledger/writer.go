package sqlledger

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

const (
	// groupMembers and groupTime bound what shares one COMMIT, and so how long the first of
	// a group waits for the last.
	groupMembers = 256
	groupTime    = 10 * time.Millisecond
	// groupWait is how long a group of requests waits for more members before it begins, if
	// the previous one had at least groupCrowd. Then clients are concurrent, and a shared
	// COMMIT saves more than the wait.
	groupWait  = 500 * time.Microsecond
	groupCrowd = 3
)

// Stats counts what the ledger has written since it was opened.
type Stats struct {
	Members int64 // writes
	Groups  int64 // transactions, each of one or more writes
	Commits int64 // COMMITs, each with a flush of the disk if it changed anything
	// Full is set while the ledger's disk lacks space: writes that need space are refused,
	// others are not.
	Full bool
}

// writer runs all writes of a ledger, one at a time, on one connection. Writes that wait at
// the same time share a COMMIT; each has its own savepoint.
type writer struct {
	db      *DB
	s       *sqldb.Session // nil after the connection was lost
	queue   *queue
	ended   chan struct{}
	members atomic.Int64
	groups  atomic.Int64
	commits atomic.Int64
	// commit ends a transaction; replaceable by tests.
	commit func(*sqldb.Session) error
	// linger is the wait of a group; replaceable by tests.
	linger func()
	// groupTime is the constant; tests of groups raise it.
	groupTime time.Duration
	crowd     int   // members of the last group of requests
	lost      error // why s could not be reopened
	log       walog
}

func startWriter(db *DB, s *sqldb.Session) *writer {
	w := &writer{db: db, s: s, queue: newQueue(), groupTime: groupTime, ended: make(chan struct{}), log: walog{limit: walLimit, every: walEvery}}
	w.commit = func(s *sqldb.Session) error { return s.Run("COMMIT") }
	w.linger = func() { time.Sleep(groupWait) }
	go w.loop()
	return w
}

// run implements engine.
func (f *file) run(ctx context.Context, k kind, j job) error {
	m := &member{ctx: ctx, job: j, done: make(chan struct{})}
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
	_, err := w.s.Conn.ExecContext(context.Background(), saveClock, w.db.clock.saving(w.db.clock.now())...)
	return errors.Join(sqldb.MapError(err), w.s.Close())
}

func (w *writer) loop() {
	defer close(w.ended)
	for {
		k, ok := w.queue.next()
		if !ok {
			return
		}
		if k == request && w.crowd >= groupCrowd {
			w.linger()
		}
		n := w.turn(k)
		if k == request {
			w.crowd = n
		}
	}
}

// turn runs one group, and returns how many members it had.
func (w *writer) turn(k kind) int {
	if w.db.path == Memory {
		w.db.r.memory.Lock()
		defer w.db.r.memory.Unlock()
	}
	w.db.ballast.tend()
	g := &group{w: w, k: k, common: &common{}, began: lethe.Monotonic{}.Now()}
	err := w.ready()
	if w.db.ballast.give(err) {
		err = w.ready()
	}
	if err != nil {
		g.refuse(err)
		return 0
	}
	g.run()
	w.groups.Add(1)
	w.bound()
	return len(g.ran)
}

// ready makes sure that there is a connection.
func (w *writer) ready() error {
	if w.s != nil {
		return nil
	}
	s, err := w.db.session(context.Background(), w.db.writing())
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
	if w.s.Run("ROLLBACK"); w.db.path == Memory {
		return
	}
	w.s.Close()
	w.s = nil
}

// runOne runs fn in the current transaction. It adds the counters to c or, if that is nil,
// writes them. A panic becomes an error.
func (w *writer) runOne(m *member, c *common) (err error) {
	t := &tx{ctx: context.Background(), now: w.db.clock.now(), db: w.db, s: w.s, random: w.db.random, writes: true, by: m.by, common: c}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if t.spoilt != nil {
			err = t.spoilt
		}
		w.db.ballast.give(err)
	}()
	w.members.Add(1)
	if err := m.fn(t); err != nil {
		return err
	}
	err = t.counts.flush(t)
	m.moves = t.counts.moves
	return err
}

// finish saves the clock if due, and commits.
func (w *writer) finish() error {
	if high := w.db.clock.now(); high.Sub(w.db.clock.saved) >= clockStep {
		st, err := w.s.Prepared(saveClock)
		if err == nil {
			_, err = st.ExecContext(context.Background(), w.db.clock.saving(high)...)
		}
		if err != nil {
			return sqldb.MapError(err)
		}
		w.db.clock.saved = high
	}
	w.commits.Add(1)
	return w.commit(w.s)
}
