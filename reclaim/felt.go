package reclaim

import (
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
)

// Windows are closed when they hold enough requests to know the slowest hundredth,
// not before windowLeast; and at windowMost at the latest.
const (
	windowLeast    = 500 * time.Millisecond
	windowMost     = 5 * time.Second
	windowRequests = 200
	// clientsGone is how long nobody asks for anything before nobody is there.
	clientsGone = 2 * time.Second
	// fewRequests in a whole window are nobody to be polite to, unless somebody waits
	// for one of them most of the time: who asks for the next when the last is answered
	// asks for few because they are slow.
	fewRequests = 20
)

// noise is a difference that is none.
const noise = 2 * time.Millisecond

const (
	// slowShare is how many of the requests may be slow.
	slowShare = 0.01
	// slowTold is how many slow requests more than their share tell that clients wait.
	// As many less tell that they do not. Chance alone gives three slow requests
	// among a few dozen once in a hundred times.
	slowTold = 2
	// paceLeast is how long a pace is kept at least: what it changes has to be felt
	// before it is judged.
	paceLeast = 250 * time.Millisecond
)

// felt is what clients feel whose requests are of one kind, and the pace that they ask
// for. Windows tell what rest is like; while something is reclaimed each request counts
// as soon as it was answered, so that many slow ones make it slower at once, and some
// after a while.
type felt struct {
	took  []time.Duration // of the window
	shade bool            // something was reclaimed in the window
	began lethe.Time      // of the window; 0: no request yet
	last  lethe.Time      // when a request was answered; 0: nobody is there

	rest    time.Duration // the slowest hundredth at rest; 0: not known
	many    bool          // the window before had requests enough, or who waits
	slow    float64       // slow requests, less their share of all
	anySlow bool          // in the window
	pace    pace
	paced   lethe.Time // when the pace was changed
}

// observe takes a request.
func (f *felt) observe(now lethe.Time, took time.Duration, busy bool, yield float64) {
	if f.last == 0 {
		f.began = now
	}
	f.took = append(f.took, took)
	f.last = now
	f.shade = f.shade || busy
	if busy && f.rest > 0 {
		f.judge(now, took > max(time.Duration(yield*float64(f.rest)), f.rest+noise))
	}
}

// judge counts a request beside reclaiming, and changes the pace if that tells
// something.
func (f *felt) judge(now lethe.Time, slow bool) {
	f.slow -= slowShare
	if slow {
		f.slow++
		f.anySlow = true
	}
	f.slow = min(max(f.slow, -slowTold), 2*slowTold)
	switch few := !f.many && len(f.took) < fewRequests; {
	case few || now.Sub(f.paced) < paceLeast:
	case f.slow >= slowTold:
		f.goes(now, f.pace.down())
	case f.slow <= -slowTold:
		f.goes(now, f.pace.up())
	}
}

// goes changes the pace, if it is another, and begins to count anew.
func (f *felt) goes(now lethe.Time, p pace) {
	if p != f.pace {
		f.pace, f.paced = p, now
	}
	f.slow = 0
}

// turn closes the window if it is time.
func (f *felt) turn(now lethe.Time, busy bool, yield float64) {
	if f.last == 0 {
		return
	}
	if now.Sub(f.last) >= clientsGone {
		// What is left of the window is of clients that are not there any more.
		*f = felt{took: f.took[:0], rest: f.rest}
		return
	}
	age := now.Sub(f.began)
	if age < windowLeast || age < windowMost && len(f.took) < windowRequests {
		return
	}
	f.shade = f.shade || busy
	f.close(now, yield)
	f.took, f.shade, f.anySlow, f.began = f.took[:0], false, false, now
}

// close learns from a window.
func (f *felt) close(now lethe.Time, yield float64) {
	f.many = len(f.took) >= fewRequests || f.shade && f.rest > 0 && f.waited() >= now.Sub(f.began)/2
	if !f.many {
		f.goes(now, 0)
		return
	}
	slowest := f.slowest()
	switch {
	case !f.shade && f.rest == 0:
		f.rest = slowest
	case !f.shade:
		f.rest += (slowest - f.rest) / 4
		f.goes(now, f.pace.up())
	case f.rest == 0 && f.pace != slowestPace:
		// Busy since the start: what is felt at the slowest pace stands for rest.
		f.goes(now, slowestPace)
	case f.rest == 0:
		f.rest = slowest
		f.goes(now, f.pace.up())
	case time.Duration(yield*float64(slowest)) < f.rest:
		f.rest -= (f.rest - slowest) / 8
	}
	if f.shade && !f.anySlow && now.Sub(f.paced) >= windowMost {
		f.goes(now, f.pace.up())
	}
}

// waited is how long the requests of the window took together.
func (f *felt) waited() (d time.Duration) {
	for _, took := range f.took {
		d += took
	}
	return d
}

// slowest is the latency that all but a hundredth of the requests stay below.
func (f *felt) slowest() time.Duration {
	slices.Sort(f.took)
	return f.took[len(f.took)*99/100]
}
