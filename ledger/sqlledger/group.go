package sqlledger

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// group is the members that share one COMMIT.
type group struct {
	w     *writer
	k     kind
	began lethe.Time
	ran   []*member // in order, with their results in err
	kept  int       // members whose changes are in the transaction
	// common is what they count, nil if each writes it for itself.
	common *common
}

// refuse returns the members that wait when no transaction can begin.
func (g *group) refuse(err error) {
	for m := g.next(); m != nil; m = g.next() {
		m.answer(err)
	}
}

// next takes the next member whose caller still waits, within the bounds.
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

// run takes members as long as there are any, and commits.
func (g *group) run() {
	for m := g.next(); m != nil; m = g.next() {
		g.ran = append(g.ran, m)
		if !g.join(m) {
			g.singly()
			return
		}
		if g.kept > 0 && (lethe.Monotonic{}).Now().Sub(g.began) > g.w.groupTime {
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

// join runs a member inside of the group's transaction; false if that is gone.
// The first needs no savepoint: as long as nothing else is in the transaction,
// it is rolled back as a whole.
func (g *group) join(m *member) bool {
	if g.kept == 0 {
		m.err = g.alone(m)
		return true
	}
	s := g.w.s
	if err := s.Run("SAVEPOINT member"); err != nil {
		return false
	}
	if m.err = g.w.runOne(m, g.common); m.err != nil {
		g.common.undone()
		return s.Run("ROLLBACK TO member") == nil && s.Run("RELEASE member") == nil
	}
	g.common.kept()
	if s.Run("RELEASE member") != nil {
		return false
	}
	g.kept++
	return true
}

// alone begins a transaction with m as its only member so far.
func (g *group) alone(m *member) error {
	if err := g.w.ready(); err != nil {
		return err
	}
	s := g.w.s
	if err := s.Run("BEGIN IMMEDIATE"); err != nil {
		g.w.db.ballast.give(err)
		g.w.reopen()
		return err
	}
	if err := g.w.runOne(m, g.common); err != nil {
		if s.Run("ROLLBACK") != nil {
			g.w.reopen()
		}
		return err
	}
	g.kept = 1
	return nil
}

// commit ends the transaction. If that fails, nobody can tell what is in the
// file: the members that succeeded learn so. Only a full disk is told before the
// end of the transaction is written: if there is room now, it is false, and all is
// to be done again.
func (g *group) commit() bool {
	if err := g.settle(); err != nil {
		g.w.db.ballast.give(err)
		return false
	}
	err := g.w.finish()
	if err == nil {
		g.w.publish(g.ran)
		return true
	}
	if g.w.db.ballast.give(err) {
		return false
	}
	for _, m := range g.ran {
		if m.err == nil {
			m.err = fmt.Errorf("%w: %w", lethe.ErrUnknownOutcome, err)
		}
	}
	// If it was the flush that failed, all of the transaction may lie in the log: nobody
	// sees it, and a crash would bring it back. Opening the ledger to write again writes
	// over it (auto_vacuum), before anybody can ask what has become of it.
	g.w.reopen()
	return true
}

// settle writes what the members have counted.
func (g *group) settle() error {
	if g.common == nil {
		return nil
	}
	w := g.w
	return sqldb.MapError(g.common.write(&tx{ctx: context.Background(), now: w.db.clock.now(), db: w.db, s: w.s}))
}

// singly runs the members again, each in a transaction of its own, after the one
// that they shared was ended.
func (g *group) singly() {
	g.w.s.Run("ROLLBACK")
	for _, m := range g.ran {
		one := &group{w: g.w, k: g.k, ran: []*member{m}}
		if m.err = one.alone(m); m.err == nil && !one.commit() {
			m.err = lethe.ErrUnknownOutcome
		}
		m.answer(m.err)
	}
}
