package reclaim

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/lethe-storage/lethe"
)

// Limit is what deleting may ask of a backend; 0 is no limit.
type Limit struct {
	Deletes  float64 // blobs a second
	Calls    float64 // delete calls a second
	InFlight int     // delete calls at once
}

// Limits hold deleting to what the operator allows, on each backend and in all.
// All instances share them: each takes what is allowed divided by the instances
// that reclaim, as far as it knows (Share). A nil Limits allows everything. It is
// safe for concurrent use.
//
// What a call deletes is known after it was allowed, so that a limit is exceeded
// by a batch at most, and what is owed is waited for before the next one.
type Limits struct {
	Clock lethe.Clock // one that never jumps, lethe.Monotonic
	// Sleep waits for d or the end of ctx (default lethe.Sleep).
	Sleep func(ctx context.Context, d time.Duration) error

	mu     sync.Mutex
	all    allowance
	own    map[string]*allowance
	shares int
}

// Throttle bounds the items that a routine does in a second, for Scheduled, and spreads
// them over it: what a slow step left of its time can be made up for a tenth of a second.
// A step does batch at most. Nil where perSecond is 0: no limit.
func Throttle(perSecond, batch int) func(ctx context.Context, items int) error {
	if perSecond <= 0 {
		return nil
	}
	limit := rate.NewLimiter(rate.Limit(perSecond), max(batch, perSecond/10))
	return func(ctx context.Context, items int) error { return limit.WaitN(ctx, min(items, limit.Burst())) }
}

// allowance is what is left of a limit.
type allowance struct {
	Limit
	deletes, calls float64 // what may go now; less than 0: what is owed
	at             lethe.Time
	underWay       int
}

// batchTime is how much of a limit a batch may use up: a claim must not wait long
// for its deletes.
const batchTime = 10 * time.Second

// Set sets the limits, for all backends together and of each.
func (l *Limits) Set(all Limit, of map[string]Limit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.own == nil {
		l.own = make(map[string]*allowance)
	}
	l.all.Limit = all
	for id, a := range l.own {
		a.Limit = of[id]
	}
	for id, limit := range of {
		l.allowance(id).Limit = limit
	}
}

// Of answers the limits in use on a backend, before they are divided; those of all
// together if none is named.
func (l *Limits) Of(backend string) Limit {
	if l == nil {
		return Limit{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if backend == "" {
		return l.all.Limit
	}
	return l.allowance(backend).Limit
}

// Share says among how many instances the limits are divided, this one included.
func (l *Limits) Share(instances int) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shares = max(instances, 1)
}

func (l *Limits) allowance(backend string) *allowance {
	if l.own == nil {
		l.own = make(map[string]*allowance)
	}
	if l.own[backend] == nil {
		l.own[backend] = &allowance{}
	}
	return l.own[backend]
}

// share is this instance's part.
func (l *Limits) share(a *allowance) Limit {
	n := float64(max(l.shares, 1))
	s := Limit{Deletes: a.Deletes / n, Calls: a.Calls / n}
	if a.InFlight > 0 {
		s.InFlight = max(a.InFlight/max(l.shares, 1), 1)
	}
	return s
}

// Size is how much of a full batch the limits allow at once.
func (l *Limits) Size(backend string, full int) int {
	if l == nil {
		return full
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	size := full
	for _, a := range []*allowance{&l.all, l.allowance(backend)} {
		if s := l.share(a); s.Deletes > 0 {
			size = min(size, max(int(s.Deletes*batchTime.Seconds()), 1))
		}
	}
	return size
}

// Begin waits until a call is allowed; ended is to be told how much it deleted, 0 if
// there was no call.
func (l *Limits) Begin(ctx context.Context, backend string) (ended func(deleted int), err error) {
	if l == nil {
		return func(int) {}, nil
	}
	sleep := l.Sleep
	if sleep == nil {
		sleep = lethe.Sleep
	}
	for {
		wait := l.enter(backend)
		if wait == 0 {
			return func(deleted int) { l.leave(backend, deleted) }, nil
		}
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// crowdWait is how often it is looked whether a call has ended.
const crowdWait = 10 * time.Millisecond

// enter begins a call, or says how long to wait.
func (l *Limits) enter(backend string) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	both := []*allowance{&l.all, l.allowance(backend)}
	for _, a := range both {
		s := l.share(a)
		if wait = max(wait, a.owed(s, l.Clock.Now())); s.InFlight > 0 && a.underWay >= s.InFlight {
			wait = max(wait, crowdWait)
		}
	}
	if wait > 0 {
		return min(wait, time.Second) // limits may change meanwhile
	}
	for _, a := range both {
		a.underWay++
		a.calls--
	}
	return 0
}

func (l *Limits) leave(backend string, deleted int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range []*allowance{&l.all, l.allowance(backend)} {
		a.underWay--
		if a.deletes -= float64(deleted); deleted == 0 {
			a.calls++ // there was none
		}
	}
}

// owed is how long to wait until nothing is owed any more. What is not used is
// kept for a second.
func (a *allowance) owed(s Limit, now lethe.Time) (wait time.Duration) {
	passed := now.Sub(a.at).Seconds()
	if a.at == 0 {
		passed = 1
	}
	a.at = now
	for _, x := range []struct {
		left *float64
		rate float64
	}{{&a.deletes, s.Deletes}, {&a.calls, s.Calls}} {
		if x.rate <= 0 {
			*x.left = 0
			continue
		}
		*x.left = min(*x.left+passed*x.rate, max(x.rate, 1))
		if *x.left <= 0 {
			wait = max(wait, time.Duration(-*x.left/x.rate*float64(time.Second))+time.Millisecond)
		}
	}
	return wait
}

// Owed says whether deleting on a backend waits for a limit now.
func (l *Limits) Owed(backend string) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.Clock.Now()
	for _, a := range []*allowance{&l.all, l.allowance(backend)} {
		if a.owed(l.share(a), now) > 0 {
			return true
		}
	}
	return false
}
