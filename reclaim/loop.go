package reclaim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/throttle"
)

// Timetable decides when a routine runs; schedule.Schedule is one.
type Timetable interface {
	// Next is the first instant after the given one at which a run begins.
	Next(after lethe.Time) lethe.Time
	// Window reports whether work may go on at the instant, and until when.
	Window(at lethe.Time) (open bool, closes lethe.Time)
}

// Scheduled is a routine with its timetable, limits and rate.
type Scheduled struct {
	Routine   Routine
	Timetable Timetable
	Workers   int // passes at once; at least 1
	// Solo: the routine walks over everything. Only one instance runs it at a time,
	// and not before the next time after the last success.
	Solo bool
	// Rest, for a Solo routine, is the pause after the end of the last success on
	// any instance before the next run. The Timetable then sets how often an
	// instance checks. 0: runs begin by the Timetable.
	Rest time.Duration
	// Most bounds what one run takes, measured by the count that Takes names
	// (default Items); 0 is no limit. A run that took so much while more is due
	// ends, once each worker has ended its step, with the count Limited: it takes at
	// least so much, where so much is due. The rest
	// waits for the next run. A run that left nothing, as far as its routine can
	// tell (Backlogged), is not Limited.
	Most  int64
	Takes string
	// Step is the most that one step takes: a run then never takes more than Most, and
	// ends where a whole step does not fit. 0: it is not known.
	Step int64
	// Rate is called after each step with the items done, and waits as long as a
	// rate limit requires. Nil: no limit.
	Rate func(ctx context.Context, items int) error
	// Controller decides how long the routine rests between steps. Nil: it does not
	// rest.
	Controller *throttle.Controller
}

// windowed is the longest time without a run of a timetable that has windows.
const windowed = 24 * time.Hour

// Interval returns the longest time between two runs by the timetable, 0 if it has none.
func (s Scheduled) Interval(now lethe.Time) time.Duration {
	first := s.Timetable.Next(now)
	if first == lethe.Forever {
		return 0
	}
	gap := s.Timetable.Next(first).Sub(first)
	if open, closes := s.Timetable.Window(now); !open || closes != lethe.Forever {
		return max(gap, windowed)
	}
	return gap
}

// Loop drives all routines by their timetables, and on demand. A routine never
// runs twice at once in one loop.
type Loop struct {
	Routines []Scheduled
	Ledger   RunLedger
	Clock    lethe.Clock
	Worker   string          // name of this process in claims and runs
	NewID    func() lethe.ID // ids of runs
	Events   *Events
	Spans    Spans
	// Monotonic measures how long the loop waits (default lethe.Monotonic).
	Monotonic lethe.Clock
	// Sleep waits for d or the end of ctx, and reports whether the time came
	// (default: a timer).
	Sleep func(ctx context.Context, d time.Duration) bool

	// Ready reports whether the ledger answers. While it does not, scheduled runs
	// wait. Nil: it does.
	Ready func() bool
	// Confirmed returns nil if the ledger is the one that the backends belong to
	// (Pairing.Confirmed). It is called before each step of a routine that is not
	// SafeUnpaired, and before its plans are applied. Nil: the ledger is confirmed.
	Confirmed func(ctx context.Context) error
	// BeatEvery is the interval of a run's heartbeat (default 10 s). A run without
	// a heartbeat for Stale (default 1 min) is taken over.
	BeatEvery time.Duration
	Stale     time.Duration

	mu    sync.Mutex
	state map[string]*State
	busy  map[string]chan struct{}
	waits map[string]context.CancelFunc // of routines that wait
}

// With returns a loop like l with other routines.
func (l *Loop) With(routines ...Scheduled) *Loop {
	return &Loop{
		Routines: routines, Ledger: l.Ledger, Clock: l.Clock, Worker: l.Worker, NewID: l.NewID, Events: l.Events, Spans: l.Spans,
		Monotonic: l.Monotonic, Sleep: l.Sleep, Ready: l.Ready, Confirmed: l.Confirmed, BeatEvery: l.BeatEvery, Stale: l.Stale,
	}
}

// State is what the loop knows of a routine.
type State struct {
	Running bool
	LastRun lethe.Time // end of the last pass, even if it did nothing
	LastErr string
	// FailingSince is the end of the first pass that failed since one did not; 0 if the
	// last one did not fail.
	FailingSince lethe.Time
	// LastGood is the end of the last pass without an error, or when one of another
	// instance was last found.
	LastGood lethe.Time
	NextRun  lethe.Time
	Counts   map[string]int64 // of the run in progress, or the last one
}

// failed records that the last pass failed.
func (st *State) failed(err error) {
	st.LastErr, st.FailingSince = err.Error(), cmp.Or(st.FailingSince, st.LastRun)
}

// succeeded records a success, of this instance or another.
func (st *State) succeeded(at lethe.Time) {
	st.LastErr, st.FailingSince, st.LastGood = "", 0, at
}

// Run drives the routines until ctx ends, and returns when all have stopped. A
// failed run is reported to Events and tried again at the next time.
func (l *Loop) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, s := range l.Routines {
		wg.Go(func() { l.drive(ctx, s) })
	}
	wg.Wait()
}

// Retries of a run that failed, or that another instance is doing: a run without
// success does not put off the next one.
const (
	retryMin = 5 * time.Second
	retryMax = time.Minute
	// readyRetry is how often Ready is called again.
	readyRetry = time.Second
)

// drive runs one routine by its timetable.
func (l *Loop) drive(ctx context.Context, s Scheduled) {
	retry := l.firstTry(s)
	for {
		if !l.await(ctx, s, retry) {
			return
		}
		runCtx, cancel := ctx, context.CancelFunc(func() {})
		open, closes := s.Timetable.Window(l.Clock.Now())
		if open && closes != lethe.Forever {
			runCtx, cancel = context.WithTimeout(ctx, closes.Sub(l.Clock.Now()))
		}
		switch {
		case !open:
			retry = 0
		case l.Ready != nil && !l.Ready():
			retry = readyRetry
		default:
			_, err := l.once(runCtx, s, true)
			retry = nextRetry(err, retry)
		}
		cancel()
	}
}

// firstTry is when a routine first runs, 0 if not before its next time. A process
// that is restarted within a window continues the work of that window.
func (l *Loop) firstTry(s Scheduled) time.Duration {
	if open, closes := s.Timetable.Window(l.Clock.Now()); open && closes != lethe.Forever {
		return time.Millisecond
	}
	return 0
}

// nextRetry is when to try again, 0 if not before the next time.
func nextRetry(err error, last time.Duration) time.Duration {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrRunning):
		return retryMax
	}
	return min(max(2*last, retryMin), retryMax)
}

// Wake starts routines that wait for their time at once, because there is work.
// Outside its window a routine keeps waiting.
func (l *Loop) Wake(names ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range names {
		if wake := l.waits[name]; wake != nil {
			wake()
		}
	}
}

// waking returns a context that Wake ends for a routine.
func (l *Loop) waking(ctx context.Context, name string) (context.Context, context.CancelFunc) {
	ctx, wake := context.WithCancel(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waits == nil {
		l.waits = make(map[string]context.CancelFunc)
	}
	l.waits[name] = wake
	return ctx, wake
}

const (
	// maxSleep bounds one wait, so that a changed clock, a suspended machine and an
	// instant that never comes are all noticed.
	maxSleep = time.Minute
	// setBack is how far the clock has to fall behind the elapsed time to count as
	// set back. The instant waited for is then meaningless.
	setBack = time.Minute
)

// await waits for a routine's next time, for an earlier retry if that is not 0, for
// a Wake, or for the end of ctx. It reports whether the time came.
func (l *Loop) await(ctx context.Context, s Scheduled, retry time.Duration) bool {
	for {
		now := l.Clock.Now()
		next := s.Timetable.Next(now)
		if retry > 0 {
			next = min(next, now.Add(retry))
		}
		l.note(s.Routine.Name(), func(st *State) { st.NextRun = next })
		waitCtx, cancel := l.waking(ctx, s.Routine.Name())
		how := l.sleepUntil(waitCtx, next)
		cancel()
		switch {
		case ctx.Err() != nil:
			return false
		case how != set:
			return true
		}
	}
}

// waited is how a wait ended.
type waited int

const (
	came  waited = iota
	ended        // ctx
	set          // the clock was set back
)

// sleepUntil waits for an instant, as long as the clock keeps pace with elapsed
// time.
func (l *Loop) sleepUntil(ctx context.Context, at lethe.Time) waited {
	monotonic, sleep := l.Monotonic, l.Sleep
	if monotonic == nil {
		monotonic = lethe.Monotonic{}
	}
	if sleep == nil {
		sleep = sleepFor
	}
	start, began := l.Clock.Now(), monotonic.Now()
	for {
		now := l.Clock.Now()
		switch passed := monotonic.Now().Sub(began); {
		case ctx.Err() != nil:
			return ended
		case passed-now.Sub(start) > setBack:
			return set
		case at <= now:
			return came
		case !sleep(ctx, min(at.Sub(now), maxSleep)):
			return ended
		}
	}
}

// sleepFor waits for d or the end of ctx; it reports whether the time came.
func sleepFor(ctx context.Context, d time.Duration) bool {
	return lethe.Sleep(ctx, d) == nil
}

// Once runs the named routines (all if none is named) one after the other, each
// until nothing is due, and returns their counts by name.
func (l *Loop) Once(ctx context.Context, only []string) (map[string]map[string]int64, error) {
	chosen, err := l.choose(only)
	if err != nil {
		return nil, err
	}
	done := make(map[string]map[string]int64)
	var errs []error
	for _, s := range chosen {
		counts, err := l.once(ctx, s, false)
		done[s.Routine.Name()] = counts
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.Routine.Name(), err))
		}
	}
	return done, errors.Join(errs...)
}

// Plan returns what each of the named routines (all if none is named) would find to
// do now.
func (l *Loop) Plan(ctx context.Context, only []string) (map[string]ledger.Backlog, error) {
	chosen, err := l.choose(only)
	if err != nil {
		return nil, err
	}
	plan := make(map[string]ledger.Backlog)
	for _, s := range chosen {
		b, err := s.Routine.Plan(ctx)
		if err != nil {
			return nil, fmt.Errorf("plan of %s: %w", s.Routine.Name(), err)
		}
		plan[s.Routine.Name()] = b
	}
	return plan, nil
}

// choose finds routines by name, in the loop's order.
func (l *Loop) choose(only []string) ([]Scheduled, error) {
	var chosen []Scheduled
	var names []string
	for _, s := range l.Routines {
		names = append(names, s.Routine.Name())
		if len(only) == 0 || slices.Contains(only, s.Routine.Name()) {
			chosen = append(chosen, s)
		}
	}
	for _, name := range only {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("no routine %q; there are %v", name, names)
		}
	}
	return chosen, nil
}

// States returns what the loop knows of each routine.
func (l *Loop) States() map[string]State {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[string]State, len(l.state))
	for name, st := range l.state {
		out[name] = *st
	}
	return out
}

func (l *Loop) note(name string, change func(*State)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == nil {
		l.state = make(map[string]*State)
	}
	if l.state[name] == nil {
		l.state[name] = &State{}
	}
	change(l.state[name])
}

// enter waits until the routine does not run in this loop, and blocks other runs of
// it until leave is called. It fails if ctx ends first.
func (l *Loop) enter(ctx context.Context, name string) (leave func(), err error) {
	l.mu.Lock()
	if l.busy == nil {
		l.busy = make(map[string]chan struct{})
	}
	if l.busy[name] == nil {
		l.busy[name] = make(chan struct{}, 1)
	}
	turn := l.busy[name]
	l.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// once runs a routine until nothing is due, with its workers, and records the run
// if it did something or failed. A solo routine that runs elsewhere is refused with
// ErrRunning. If byTime is set it runs only when its time has come.
func (l *Loop) once(ctx context.Context, s Scheduled, byTime bool) (counts map[string]int64, err error) {
	name := s.Routine.Name()
	leave, err := l.enter(ctx, name)
	if err != nil {
		return nil, err
	}
	defer leave()
	run := l.newRun(name)
	ctx, ended := l.Spans.run(ctx, run.run)
	defer func() { ended(counts, err) }()
	if s.Solo {
		if begun, err := l.beginSolo(ctx, s, run, byTime); err != nil || !begun {
			if err == nil {
				l.note(name, func(st *State) { st.succeeded(l.Clock.Now()) })
			}
			return nil, err
		}
	}
	l.note(name, func(st *State) { st.Running, st.Counts = true, nil })
	err = run.alive(ctx, func(ctx context.Context) error { return l.work(ctx, s, run) })
	counts = run.finish(ctx, err)
	l.note(name, func(st *State) {
		st.Running, st.LastRun, st.Counts = false, l.Clock.Now(), counts
		switch {
		case err != nil:
			st.failed(err)
		case ctx.Err() == nil:
			st.succeeded(st.LastRun)
		}
	})
	return counts, err
}

// work runs the routine's passes in parallel until each finds nothing more.
func (l *Loop) work(ctx context.Context, s Scheduled, run *recorder) error {
	errs := make([]error, max(s.Workers, 1))
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			errs[i] = l.pass(ctx, s, run, fmt.Sprintf("%s/%d", l.Worker, i))
		})
	}
	wg.Wait()
	if err := joined(errs); err != nil {
		return err
	}
	return l.leaves(ctx, s, run)
}

// joined joins errors without repeating a text: several workers mostly fail for one
// cause.
func joined(errs []error) error {
	var kept []error
	told := map[string]bool{}
	for _, err := range errs {
		if err != nil && !told[err.Error()] {
			told[err.Error()] = true
			kept = append(kept, err)
		}
	}
	if len(kept) == 1 {
		return kept[0]
	}
	return errors.Join(kept...)
}
