package stepwise

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Runner runs actors, each through a gate of its own.
type Runner struct {
	events chan event
	gates  []*gate
	urls   []string
	direct *pgx.Conn
}

// New opens a gate for each of n actors to the server of a database. It asks who waits
// for a lock on the direct connection, which goes past the gates.
func New(t testing.TB, direct *pgx.Conn, database string, n int) *Runner {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	r := &Runner{events: make(chan event, 4*n), direct: direct}
	for i := range n {
		g := &gate{actor: i, to: u.Host, events: r.events}
		via := *u
		via.Host = g.listen(t)
		r.gates, r.urls = append(r.gates, g), append(r.urls, via.String())
	}
	return r
}

// URL is the database's, through the gate of an actor, which is open until Run.
func (r *Runner) URL(actor int) string { return r.urls[actor] }

// Count runs an actor alone and returns how many statements it ran.
func (r *Runner) Count(actor int, do func()) int {
	r.gates[actor].passed.Store(0)
	do()
	return int(r.gates[actor].passed.Load())
}

// Run runs do as each of the first n actors beside each other, by a schedule, until all
// have returned. With an error they have not.
func (r *Runner) Run(s Schedule, n int, do func(actor int)) (*Trace, error) {
	var running sync.WaitGroup
	for i := range n {
		r.gates[i].shut.Store(true)
		r.gates[i].deadlocks.Store(0)
		running.Go(func() {
			do(i)
			r.events <- event{actor: i, kind: returned}
		})
	}
	t := &Trace{r: r, Actors: make([]Actor, n)}
	if err := t.conduct(s); err != nil {
		return t, err
	}
	running.Wait()
	for i := range n {
		r.gates[i].shut.Store(false)
		t.Deadlocks += int(r.gates[i].deadlocks.Load())
	}
	return t, nil
}

// locked returns the processes of the server that wait for locks.
func (r *Runner) locked() (map[uint32]bool, error) {
	rows, err := r.direct.Query(context.Background(), `SELECT pid FROM pg_locks WHERE NOT granted AND pid IS NOT NULL`)
	if err != nil {
		return nil, err
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	held := map[uint32]bool{}
	for _, pid := range list {
		held[uint32(pid)] = true
	}
	return held, err
}

// Trace is what happened in a schedule.
type Trace struct {
	Actors []Actor
	Steps  []string
	Waits  int // for locks
	// Deadlocks are the transactions that the server undid to end one.
	Deadlocks int

	r    *Runner
	step int
}

// Actor is what an actor of a schedule has done.
type Actor struct {
	Statements []Statement // that were let pass

	state  state
	at     event // the statement that waits, or was let pass
	waited int   // the last of its statements that waited for a lock
}

// Statement is one that was let pass.
type Statement struct {
	Text     string
	Passed   int // in which step
	Answered int // after which step; 0: it is not yet
}

// Last is the last statement that begins so, empty if none does.
func (a Actor) Last(prefix string) (last Statement) {
	for _, s := range a.Statements {
		if strings.HasPrefix(s.Text, prefix) {
			last = s
		}
	}
	return last
}

// state is where an actor is.
type state int

const (
	working state = iota // between two statements, in its own process
	waiting              // at the gate
	asking               // its statement is at the server
	locked               // which waits for a lock
	done
)

const (
	// patience is how long a statement may take before it is looked up whether it waits
	// for a lock.
	patience = 2 * time.Millisecond
	// Stuck is how long nothing may happen.
	Stuck = time.Minute
)

// conduct lets the actors run by a schedule until all have returned.
func (t *Trace) conduct(s Schedule) error {
	for {
		if err := t.settle(); err != nil {
			return err
		}
		var can []int
		left := 0
		for i, a := range t.Actors {
			if a.state == waiting {
				can = append(can, i)
			}
			if a.state != done {
				left++
			}
		}
		switch {
		case left == 0:
			return nil
		case len(can) > 0:
			t.pass(s.Next(t, can))
		default: // all wait for each other, which the server resolves
			if err := t.take(Stuck); err != nil {
				return err
			}
		}
	}
}

// pass lets an actor's statement go to the server.
func (t *Trace) pass(i int) {
	a := &t.Actors[i]
	t.step++
	a.Statements = append(a.Statements, Statement{Text: a.at.text, Passed: t.step})
	t.Steps = append(t.Steps, fmt.Sprintf("%3d actor %d: %.110s", t.step, i, strings.Join(strings.Fields(a.at.text), " ")))
	a.state = asking
	close(a.at.pass)
}

// settle waits until nobody works, and whoever asks waits for a lock.
func (t *Trace) settle() error {
	anyLocked := false
	for i := range t.Actors {
		if t.Actors[i].state == locked {
			t.Actors[i].state, anyLocked = asking, true
		}
	}
	if anyLocked {
		if err := t.look(); err != nil {
			return err
		}
	}
	for {
		asks, works := false, false
		for _, a := range t.Actors {
			asks = asks || a.state == asking
			works = works || a.state == working
		}
		switch {
		case works:
			if err := t.take(Stuck); err != nil {
				return err
			}
		case asks:
			if err := t.take(patience); errors.Is(err, errNothing) {
				if err := t.look(); err != nil {
					return err
				}
			}
		default:
			return nil
		}
	}
}

// errNothing says that no event came.
var errNothing = errors.New("nothing happens")

// take takes the next event.
func (t *Trace) take(longest time.Duration) error {
	var e event
	select {
	case e = <-t.r.events:
	default:
		timer := time.NewTimer(longest)
		defer timer.Stop()
		select {
		case e = <-t.r.events:
		case <-timer.C:
			return errNothing
		}
	}
	a := &t.Actors[e.actor]
	switch e.kind {
	case arrived:
		a.state, a.at = waiting, e
	case answered:
		a.state = working
		a.Statements[len(a.Statements)-1].Answered = t.step
	case returned:
		a.state = done
	}
	return nil
}

// look finds those who wait for a lock.
func (t *Trace) look() error {
	held, err := t.r.locked()
	if err != nil {
		return err
	}
	for i := range t.Actors {
		if a := &t.Actors[i]; a.state == asking && held[a.at.pid] {
			a.state = locked
			if a.waited != len(a.Statements) {
				a.waited = len(a.Statements)
				t.Waits++
				t.Steps = append(t.Steps, fmt.Sprintf("    actor %d waits for a lock", i))
			}
		}
	}
	return nil
}
