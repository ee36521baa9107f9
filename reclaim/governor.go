package reclaim

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
)

// Governor slows reclaiming down while clients wait longer for it, and lets it go
// on at full speed when they do not. It compares the slowest hundredth of their
// requests with what it was while nothing was reclaimed. It makes batches smaller,
// because a request waits for a batch at most, and rests between them, because
// clients need the processors and the disk as well. It never stops: batches and rests are bounded, so that
// reclaiming keeps about a third of its free rate: politeness must not make a
// store take in more than it forgets.
//
// The zero value with a Clock is ready. A nil Governor does nothing.
type Governor struct {
	// Yield is how many times as long as at rest the slowest hundredth of the
	// requests may take. 0 is 1.2.
	Yield float64
	// Deaf: clients may wait as long as it takes, here and elsewhere.
	Deaf  bool
	Clock lethe.Clock // best one that never jumps, lethe.Monotonic
	// Database, if set, asks for a slower pace while the ledger is busy.
	Database *Strain
	// Changed, if set, is told of each change of the pace and what asks for it; it
	// must not call the governor.
	Changed func(Pressure)

	mu     sync.Mutex
	other  foreign
	told   Pressure
	last   lethe.Time // when a request was answered
	window window
	rest   time.Duration // the slowest hundredth at rest; 0: not known
	pace   pace
	began  lethe.Time // of the window; 0: no request yet
	active int        // steps under way
	worked bool       // something was reclaimed since Share was asked
}

// pace is how many steps slower than at full speed reclaiming goes.
type pace int

// slowestPace takes batches of a sixteenth, and a half of the time.
const slowestPace pace = 4

// size is what is left of a batch.
func (p pace) size(full int) int { return max(full>>p, 1) }

// pause is how long to rest after working for so long.
func (p pace) pause(worked time.Duration) time.Duration {
	return worked * time.Duration(p) / time.Duration(slowestPace)
}

// down is the next slower pace, up the next faster one.
func (p pace) down() pace { return min(p+1, slowestPace) }
func (p pace) up() pace   { return max(p-1, 0) }

// Windows are closed when they hold enough requests to know the slowest hundredth,
// not before windowLeast; and at windowMost at the latest.
const (
	windowLeast    = 500 * time.Millisecond
	windowMost     = 5 * time.Second
	windowRequests = 200
	// clientsGone is how long nobody asks for anything before nobody is there.
	clientsGone = 2 * time.Second
	// fewRequests in a whole window are nobody to be polite to.
	fewRequests = 20
)

// noise is a difference that is none.
const noise = 2 * time.Millisecond

// window is what happened within some time.
type window struct {
	took []time.Duration
	busy bool // something was reclaimed
}

// slowest is the latency that all but a hundredth of the requests stay below.
func (w window) slowest() time.Duration {
	if len(w.took) == 0 {
		return 0
	}
	slices.Sort(w.took)
	return w.took[len(w.took)*99/100]
}

// next decides by a window: the pace from now on, and what is known of rest.
func (p pace) next(w window, rest time.Duration, yield float64) (pace, time.Duration) {
	if len(w.took) < fewRequests {
		return 0, rest
	}
	slowest := w.slowest()
	switch {
	case !w.busy && rest == 0:
		return p.up(), slowest
	case !w.busy:
		return p.up(), rest + (slowest-rest)/4
	case rest == 0 && p != slowestPace:
		// Busy since the start: what is felt at the slowest pace stands for rest.
		return slowestPace, 0
	case rest == 0:
		return p.up(), slowest
	case slowest > max(time.Duration(yield*float64(rest)), rest+noise):
		return p.down(), rest
	case slowest < rest:
		return p.up(), rest - (rest-slowest)/8
	}
	return p.up(), rest
}

// Observe tells of a client's request that was answered.
func (g *Governor) Observe(took time.Duration) {
	if g == nil || g.Deaf {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turn()
	g.window.took = append(g.window.took, took)
	g.last = g.Clock.Now()
	g.turn()
}

// turn closes the window if it is time.
func (g *Governor) turn() {
	now := g.Clock.Now()
	if g.began == 0 {
		g.began = now
	}
	if left := now.Sub(g.last); g.last != 0 && left >= clientsGone {
		// What is left of the window is of clients that are not there any more.
		g.window.took, g.last = g.window.took[:0], 0
		g.pace, g.began = 0, now
		return
	}
	age := now.Sub(g.began)
	if age < windowLeast || age < windowMost && len(g.window.took) < windowRequests {
		return
	}
	yield := g.Yield
	if yield == 0 {
		yield = 1.2
	}
	g.window.busy = g.window.busy || g.active > 0 || g.other.busy
	g.pace, g.rest = g.pace.next(g.window, g.rest, yield)
	g.window = window{took: g.window.took[:0]}
	g.began = now
}

// Size is how much of a full batch to take now.
func (g *Governor) Size(full int) int {
	if g == nil {
		return full
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asked().size(full)
}

// run takes a step, and rests after it.
func (g *Governor) run(ctx context.Context, step Step, c *Counts) (more bool, err error) {
	if g == nil {
		return step(ctx, c)
	}
	before, at := c.Get(Items), g.Clock.Now()
	g.enter(1, false)
	more, err = step(ctx, c)
	pause := g.enter(-1, c.Get(Items) > before).pause(g.Clock.Now().Sub(at))
	if err == nil && more && pause > 0 {
		sleepFor(ctx, pause)
	}
	return more, err
}

// enter counts steps under way, and says whether one did something.
func (g *Governor) enter(steps int, did bool) pace {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active += steps
	g.window.busy = g.window.busy || did
	g.worked = g.worked || did
	return g.asked()
}

// Size says how much of a full batch to take now. Nil: all of it.
type Size func(full int) int

// of is the size of the next batch, between the given share (a divisor) of the
// full one and all of it. A limit of 0 stays: no limit.
func (s Size) of(full, divisor int) int {
	if s == nil || full <= 0 {
		return full
	}
	return min(max(s(full), full/divisor, 1), full)
}
