package sim

import (
	"errors"
	"fmt"
	"iter"
	"runtime/debug"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// crash unwinds an actor whose process died. It is a panic so that none of the
// real code's own handling runs any effect after it.
var errCrash = errors.New("sim: process crashed")

// actor is one thread of control: a client or a worker of a process.
type actor struct {
	w       *World
	proc    *process
	name    string
	index   int
	effects int  // effects reached so far: numbers the decisions
	task    int  // the operation or pass under way, by its number
	since   int  // effects when it began
	looked  bool // ahead, in the pass under way
	idle    bool // a client that has no request under way
	began   int  // the turn in which the step under way began
	asked   int  // the turn in which it asked the guard
	askedAt lethe.Time
	asleep  lethe.Time // a zombie does not run before this instant
	dead    bool
	done    bool
	failure error

	pass passing // under way
	step func() (effect, bool)
	kill func()
	park func(effect) bool

	op      *operation  // what a client is doing
	plan    []plan.Item // that a worker applies
	decided int         // effects when it began to
	queued  int         // subjects, by that plan
	down    []lethe.ID  // blobs whose delete met a backend that is down, just now
	opened  []lethe.ID  // blobs that it read in the operation or pass under way
}

// effect is a call that an actor is about to make.
type effect struct {
	step   Step
	detail string
}

// start makes the actor's coroutine; it does not run yet.
func (a *actor) start(body func(*actor)) {
	a.step, a.kill = iter.Pull(func(yield func(effect) bool) {
		a.park = yield
		defer a.recover()
		body(a)
	})
}

// recover ends the coroutine; a panic that is no crash is a finding.
func (a *actor) recover() {
	switch p := recover(); {
	case p == nil, p == any(errCrash):
	default:
		a.failure = broken("%s panicked: %v\n%s", a.name, named(fmt.Sprint(p)), debug.Stack())
	}
	a.done = true
}

// begins notes that an operation or pass begins.
func (a *actor) begins(task int) { a.task, a.since, a.opened = task, a.effects, nil }

// arrive stops the actor before an effect and returns the fault that it meets
// once it is scheduled again.
func (a *actor) arrive(step Step, detail string) Fault {
	before := a.w.now
	if a.dead || !a.park(effect{step, detail}) {
		panic(errCrash)
	}
	a.slept(before)
	a.effects++
	fault := a.w.decide(a, step, detail)
	if fault != None && a.op != nil {
		a.op.faulted, a.op.reading.harmed = true, true
	}
	return fault
}

// spot is a place in a run: the so many-th effect of an operation or pass. Leaving
// others out does not move it.
type spot struct{ actor, life, task, effect int }

func (a *actor) spot() spot {
	if a.op != nil {
		return spot{a.index, 0, a.task, a.effects - a.since}
	}
	return spot{a.index, a.proc.life, a.task, a.effects - a.since}
}

// unpanicked runs what no actor does; a panic is a finding.
func (w *World) unpanicked(who string, do func()) {
	defer func() {
		if p := recover(); p != nil {
			w.fail(broken("%s panicked: %v\n%s", named(who), named(fmt.Sprint(p)), debug.Stack()))
		}
	}()
	do()
}

// process is what dies in a crash: its memory, its actors, not what is durable.
type process struct {
	w       *World
	index   int
	life    int // counts restarts
	crashed bool
	actors  []*actor
	node    *node
	reads   map[lethe.ID]lethe.Time // that it has served and has yet to note
}

// die marks the process as crashed; the scheduler unwinds its actors.
func (p *process) die() {
	p.crashed = true
	for _, a := range p.actors {
		a.dead = true
	}
}

// bury unwinds what is left of a crashed process.
func (p *process) bury() {
	for _, a := range p.actors {
		a.kill()
		a.done = true
	}
	p.actors = nil
}
