package adoptsim

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/lethe-storage/lethe"
)

// crash unwinds an actor whose process died. It is a panic so that none of the real
// code's own handling has an effect after it.
var errCrash = errors.New("sim: process crashed")

// actor is a process with one thread: a worker or an instance of the application.
type actor struct {
	w       *world
	name    string
	index   int
	life    int // counts restarts
	effects int // steps of this life: numbers the decisions
	rng     *rand.Rand
	body    func(*actor)

	asleep  lethe.Time  // it does not run before this instant,
	wakes   func() bool // or before this holds, if it is set
	onTime  bool        // the clock does not jump over the instant
	ahead   bool        // it runs before others
	moment  func() bool // the worst to wake up at, once it stands still
	done    bool
	crashed bool
	failure error
	racer   bool   // it commits as soon as it may
	tardy   bool   // what it sends next it sends as late as it may
	onDeath func() // what its connections leave when they break

	step func() (struct{}, bool)
	kill func()
	park func(struct{}) bool
}

// start makes the actor's coroutine; it does not run yet.
func (a *actor) start() {
	a.effects, a.asleep, a.wakes, a.moment, a.onTime, a.ahead, a.crashed, a.tardy = 0, 0, nil, nil, false, false, false, false
	a.rng = rand.New(rand.NewPCG(a.w.cfg.Seed, uint64(1000*(a.index+1)+a.life)))
	a.step, a.kill = iter.Pull(func(yield func(struct{}) bool) {
		a.park = yield
		defer a.recover()
		a.body(a)
		a.done = true
	})
}

// recover ends the coroutine; a panic that is no crash is a finding.
func (a *actor) recover() {
	switch p := recover(); {
	case p == nil:
	case p == any(errCrash):
		a.crashed = true
	default:
		a.failure = fmt.Errorf("%s panicked: %v\n%s", a.name, p, debug.Stack())
	}
}

// wait lets others run.
func (a *actor) wait() {
	if !a.park(struct{}{}) {
		panic(errCrash)
	}
}

// sleep parks the actor for a time.
func (a *actor) sleep(d time.Duration) {
	a.asleep = a.w.now.Add(d)
	a.wait()
}

// sleepUntil parks the actor until something holds, for d at the longest.
func (a *actor) sleepUntil(holds func() bool, d time.Duration) {
	a.wakes = holds
	a.sleep(d)
	a.wakes, a.asleep = nil, min(a.asleep, a.w.now)
}

// sleepTo parks the actor until right before an instant. Then it runs before others,
// until it says that it is not ahead any more.
func (a *actor) sleepTo(at lethe.Time) {
	a.ahead = true
	if wait := at.Sub(a.w.now) - 200*time.Millisecond; wait > 0 {
		a.onTime = true
		a.sleep(wait)
		a.onTime = false
	}
}

// awake reports whether the actor can go on.
func (a *actor) awake() bool {
	return a.asleep <= a.w.now || a.wakes != nil && a.wakes()
}

// between draws a duration.
func (a *actor) between(low, high time.Duration) time.Duration {
	return low + time.Duration(a.rng.Int64N(int64(high-low)+1))
}

// one reports true once in n.
func (a *actor) one(n int) bool { return a.rng.IntN(n) == 0 }

// dies ends the actor here.
func (a *actor) dies() { panic(errCrash) }
