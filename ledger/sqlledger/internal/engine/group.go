package engine

import (
	"context"
	"fmt"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// group is the members that share one COMMIT.
type group struct {
	w     *writer
	k     Kind
	began lethe.Time
	high  int64     // highest time used before it
	ran   []*member // in order, with their results in err
	kept  int       // members whose changes are in the transaction
	// careful: each member after the first has a savepoint.
	careful bool
	// shared is what the members put off; nil if each writes all that it has.
	shared Group
}

// refuse fails the waiting members when no transaction can begin.
func (g *group) refuse(err error) {
	for m := g.next(); m != nil; m = g.next() {
		m.answer(err)
	}
}

// next returns the next member whose caller still waits, within the group's bounds.
func (g *group) next() *member {
	if len(g.ran) >= groupMembers {
		return nil
	}
	for {
		m := g.w.queue.pop(g.k)
		if m == nil || m.start() {
			return m
		}
	}
}

// run runs members while there are any, and commits.
func (g *group) run() {
	for m := g.next(); m != nil; m = g.next() {
		g.ran = append(g.ran, m)
		if !g.join(m) {
			g.singly()
			return
		}
		if g.kept > 0 && g.full() {
			break
		}
	}
	if g.kept > 0 && !g.commit() {
		g.singly()
		return
	}
	for _, m := range g.ran {
		m.answer(m.err)
	}
}

// full reports whether a group takes no further members: its time is up, or requests wait for a
// group of batches.
func (g *group) full() bool {
	return g.k == Batch && g.w.queue.length(Request) > 0 || (lethe.Awake{}).Now().Sub(g.began) > g.w.groupTime
}

// join runs a member inside the group's transaction; false if the transaction is gone. The
// first member needs no savepoint: the whole transaction can be rolled back while it is
// alone.
func (g *group) join(m *member) bool {
	switch {
	case g.kept == 0:
		m.err = g.alone(m)
		return true
	case g.careful:
		return g.guarded(m)
	}
	wrote, err := g.w.runOne(m, g.shared)
	if m.err = err; err != nil && wrote {
		return g.again()
	}
	g.keep(err)
	return true
}

// guarded is join with a savepoint.
func (g *group) guarded(m *member) bool {
	s := g.w.s
	if err := s.Run("SAVEPOINT member"); err != nil {
		return false
	}
	if _, m.err = g.w.runOne(m, g.shared); m.err != nil {
		if g.shared != nil {
			g.shared.Undone()
		}
		return s.Run("ROLLBACK TO member") == nil && s.Run("RELEASE member") == nil
	}
	g.keep(nil)
	return s.Run("RELEASE member") == nil
}

// keep ends a member whose changes stay, or which failed before it made any.
func (g *group) keep(failed error) {
	if g.shared != nil {
		g.shared.Kept()
	}
	if failed == nil {
		g.kept++
	}
}

// again rolls back a transaction whose last member failed after it had changed something, and
// runs all members anew, with savepoints.
func (g *group) again() bool {
	if g.w.f.ballast.out.Load() || g.w.s.Run("ROLLBACK") != nil {
		return false
	}
	raise(&g.w.f.clock.high, g.high) // a member may have lowered it
	g.careful, g.w.careful, g.kept = true, carefulGroups, 0
	if g.shared != nil {
		g.shared = g.w.f.e.o.NewGroup()
	}
	for _, m := range g.ran {
		if !g.join(m) {
			return false
		}
	}
	return true
}

// alone begins a transaction with m as its only member so far.
func (g *group) alone(m *member) error {
	if err := g.w.ready(); err != nil {
		return err
	}
	s := g.w.s
	if err := s.Run("BEGIN IMMEDIATE"); err != nil {
		g.w.f.ballast.give(err)
		g.w.reopen()
		return err
	}
	if _, err := g.w.runOne(m, g.shared); err != nil {
		if g.shared != nil {
			g.shared.Undone()
		}
		if s.Run("ROLLBACK") != nil {
			g.w.reopen()
		}
		return err
	}
	g.kept = 1
	return nil
}

// commit ends the transaction. If that fails, the file's state is unknown, and so is the
// outcome of the members that succeeded. Only a full disk and a reference to what is missing
// are reported before the end of the transaction is written. If space can be freed, or if one
// of several members made the reference, commit returns false, and everything must run again.
func (g *group) commit() bool {
	if err := g.settle(); err != nil {
		g.w.f.ballast.give(err)
		return false
	}
	err := g.w.finish()
	if err == nil {
		g.committed()
		return true
	}
	if g.w.f.ballast.give(err) {
		return false
	}
	if sqldb.Code(err)&0xff == sqlite3.SQLITE_CONSTRAINT {
		return g.violated(err)
	}
	for _, m := range g.ran {
		if m.err == nil {
			m.err = fmt.Errorf("%w: %w", lethe.ErrUnknownOutcome, err)
		}
	}
	// If the flush failed, the whole transaction may be in the log. No reader sees it, but a
	// crash would bring it back. Reopening the ledger for writing overwrites it
	// (auto_vacuum) before any client can ask for its outcome.
	g.w.reopen()
	return true
}

// violated rolls back after COMMIT found a reference to what is missing. Only the member that
// made it fails: with several, commit returns false.
func (g *group) violated(err error) bool {
	if len(g.ran) > 1 {
		return false
	}
	g.ran[0].err = err
	if g.w.s.Run("ROLLBACK") != nil {
		g.w.reopen()
	}
	return true
}

// committed calls what members have asked for.
func (g *group) committed() {
	for _, m := range g.ran {
		if m.err == nil && m.Committed != nil {
			m.Committed()
		}
	}
}

// settle writes what the members have put off.
func (g *group) settle() error {
	if g.shared == nil {
		return nil
	}
	w := g.w
	return sqldb.MapError(g.shared.Flush(&Tx{ctx: context.Background(), Now: w.f.clock.now(), e: w.f.e, s: w.s}))
}

// singly runs the members again, each in its own transaction, after the shared one has
// ended.
func (g *group) singly() {
	g.w.s.Run("ROLLBACK")
	raise(&g.w.f.clock.high, g.high)
	if g.w.f.ballast.out.Load() {
		g.w.f.c.run() // the space goes to the file, and the log is used again from its start
	}
	for _, m := range g.ran {
		g.byItself(m)
		m.answer(m.err)
	}
}

// byItself runs a member in a transaction of its own, and once more if its COMMIT found the
// disk full and the ballast has made room since.
func (g *group) byItself(m *member) {
	for range 2 {
		one := &group{w: g.w, k: g.k, ran: []*member{m}}
		if m.err = one.alone(m); m.err != nil || one.commit() {
			return
		}
		if g.w.s.Run("ROLLBACK") != nil {
			g.w.reopen()
		}
		raise(&g.w.f.clock.high, g.high)
	}
	m.err = fmt.Errorf("the disk is full: %w", lethe.ErrUnavailable)
}
