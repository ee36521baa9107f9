package interleave_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// schedule says which of those who can go on goes on.
type schedule interface {
	// next answers one of the actors.
	next(c *conductor, can []int) int
	String() string
}

// interrupted runs the actors by their order, but for the first: after so many of its
// statements it goes on only where nobody else can.
type interrupted struct {
	order []int
	after int
}

func (s interrupted) next(c *conductor, can []int) int {
	if first := s.order[0]; c.actors[first].passed < s.after && slices.Contains(can, first) {
		return first
	}
	for _, a := range s.order[1:] {
		if slices.Contains(can, a) {
			return a
		}
	}
	return can[0]
}

// String names the schedule.
func (s interrupted) String() string {
	return fmt.Sprintf("actor %d interrupted after %d statements by %v", s.order[0], s.after, s.order[1:])
}

// shuffled draws who goes on, and mostly stays with him who went on last.
type shuffled struct {
	seed uint64
	dice *rand.Rand
	last int
}

func shuffle(seed uint64) *shuffled {
	return &shuffled{seed: seed, dice: rand.New(rand.NewPCG(seed, 11)), last: -1}
}

func (s *shuffled) next(_ *conductor, can []int) int {
	if !slices.Contains(can, s.last) || s.dice.IntN(3) == 0 {
		s.last = can[s.dice.IntN(len(can))]
	}
	return s.last
}

// String names the schedule.
func (s *shuffled) String() string { return fmt.Sprintf("shuffled by seed %d", s.seed) }

// state is where an actor is.
type state int

const (
	working state = iota // between two statements, in its own process
	waiting              // at the gate
	asking               // its statement is at the server
	locked               // which waits for a lock
	done
)

// actorState is an actor of a schedule that runs.
type actorState struct {
	state  state
	at     event  // the statement that waits, or was let pass
	last   string // the statement that was let pass last
	ended  int    // in which place it returned
	commit int    // in which place its last COMMIT was answered, 0 for none
	ops    int    // before which step it recorded its operation, 0 if it did not
	began  int    // before which step its first statement passed
	passed int
	waited int // the last of its statements that waited for a lock
}

const (
	// patience is how long a statement may take before it is looked up whether it waits
	// for a lock.
	patience = 2 * time.Millisecond
	// stuck is how long nothing may happen.
	stuck = time.Minute
)

// conductor runs a schedule.
type conductor struct {
	w      *world
	actors []actorState
	step   int
	trace  []string
	waits  int // for locks
	// deadlocks are the transactions that the server undid to end one.
	deadlocks int
}

// conduct lets the actors run by a schedule until all have returned.
func (w *world) conduct(n int, s schedule) (*conductor, error) {
	c := &conductor{w: w, actors: make([]actorState, n)}
	for {
		if err := c.settle(); err != nil {
			return c, err
		}
		var can []int
		left := 0
		for i, a := range c.actors {
			if a.state == waiting {
				can = append(can, i)
			}
			if a.state != done {
				left++
			}
		}
		switch {
		case left == 0:
			return c, nil
		case len(can) > 0:
			c.pass(s.next(c, can))
		default: // all wait for each other, which the server resolves
			if err := c.take(stuck); err != nil {
				return c, err
			}
		}
	}
}

// pass lets an actor's statement go to the server.
func (c *conductor) pass(i int) {
	a := &c.actors[i]
	c.step++
	a.passed++
	a.last = a.at.text
	a.began = cmp.Or(a.began, c.step)
	if strings.HasPrefix(a.at.text, "INSERT INTO ops") {
		a.ops = c.step
	}
	c.trace = append(c.trace, fmt.Sprintf("%3d actor %d: %.110s", c.step, i, strings.Join(strings.Fields(a.at.text), " ")))
	a.state = asking
	close(a.at.pass)
}

// settle waits until nobody works, and whoever asks waits for a lock.
func (c *conductor) settle() error {
	anyLocked := false
	for i := range c.actors {
		if c.actors[i].state == locked {
			c.actors[i].state, anyLocked = asking, true
		}
	}
	if anyLocked {
		if err := c.look(); err != nil {
			return err
		}
	}
	for {
		asks, works := false, false
		for _, a := range c.actors {
			asks = asks || a.state == asking
			works = works || a.state == working
		}
		switch {
		case works:
			if err := c.take(stuck); err != nil {
				return err
			}
		case asks:
			if err := c.take(patience); err == errNothing {
				err = c.look()
				if err != nil {
					return err
				}
			}
		default:
			return nil
		}
	}
}

// errNothing says that no event came.
var errNothing = fmt.Errorf("nothing happens")

// take takes the next event.
func (c *conductor) take(longest time.Duration) error {
	var e event
	select {
	case e = <-c.w.events:
	default:
		t := time.NewTimer(longest)
		defer t.Stop()
		select {
		case e = <-c.w.events:
		case <-t.C:
			return errNothing
		}
	}
	a := &c.actors[e.actor]
	switch e.kind {
	case arrived:
		a.state, a.at = waiting, e
	case answered:
		a.state = working
		if a.at.text == "COMMIT" {
			a.commit = c.step
		}
	case returned:
		a.state = done
		a.ended = c.step
	}
	return nil
}

// look finds those who wait for a lock.
func (c *conductor) look() error {
	held, err := c.w.waitingForLocks()
	if err != nil {
		return err
	}
	for i := range c.actors {
		if a := &c.actors[i]; a.state == asking && held[a.at.pid] {
			a.state = locked
			if a.waited != a.passed {
				a.waited = a.passed
				c.waits++
				c.trace = append(c.trace, fmt.Sprintf("    actor %d waits for a lock", i))
			}
		}
	}
	return nil
}
