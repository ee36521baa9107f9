package throttle

import (
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
)

const (
	// A window is closed when it has enough requests to know the slowest hundredth, but
	// not before windowMin; and at windowMax at the latest.
	windowMin      = 500 * time.Millisecond
	windowMax      = 5 * time.Second
	windowRequests = 200
	// fewRequests in a window do not count, unless a client waits for one of them
	// most of the time: a client that sends one request after the other sends few
	// because they are slow.
	fewRequests = 20
	// clientsGone is how long after the last request there are taken to be no
	// clients.
	clientsGone = 2 * time.Second
	// slowRequests is the part of the requests that may be slow.
	slowRequests = 0.01
	// requestSlack is a difference that does not matter.
	requestSlack = 500 * time.Microsecond
	// requestHold is how long a level is kept at least.
	requestHold = 250 * time.Millisecond
	// startHold is how long each level of a start is kept.
	startHold = time.Second
	// startPause is how long nothing was reclaimed before a start: longer than the rests
	// between steps, which are as long as the steps.
	startPause = 5 * time.Second
)

// latency is the client latency of one kind of requests, and the backoff level for it.
// Windows without reclaiming teach what is usual. During reclaiming each request counts
// when it was answered.
type latency struct {
	backoff
	usual time.Duration // slowest hundredth without reclaiming; 0: not known
	many  bool          // the window before had enough requests to count

	took    []time.Duration // of the window
	began   lethe.Time      // of the window
	last    lethe.Time      // when a request was answered; 0: there are no clients
	busy    bool            // something was reclaimed in the window
	anySlow bool            // in the window

	// start is the level at which reclaiming begins beside clients: at full speed they would
	// wait until their latency tells. It falls by itself, and becomes the backoff level once
	// requests are slow.
	start  Level
	eased  lethe.Time // when start was changed
	beside lethe.Time // when something was last being reclaimed, as far as asked
}

// pace is the level at which to go.
func (l *latency) pace() Level { return max(l.level, l.start) }

// note takes a request. Busy: something is being reclaimed. Limit is how many times the
// usual latency is slow.
func (l *latency) note(now lethe.Time, took time.Duration, busy bool, limit float64) {
	l.advance(now, busy, limit)
	if l.last == 0 {
		l.began = now
	}
	l.took = append(l.took, took)
	l.last = now
	l.busy = l.busy || busy
	if busy && l.usual > 0 {
		slow := took > max(time.Duration(limit*float64(l.usual)), l.usual+requestSlack)
		l.anySlow = l.anySlow || slow
		l.count(slow, slowRequests)
		if l.many || len(l.took) >= fewRequests {
			l.judge(now)
		}
	}
	l.advance(now, busy, limit)
}

// judge changes the level if there is evidence for it.
func (l *latency) judge(now lethe.Time) {
	if l.excess >= evidence && l.start > l.level {
		l.level, l.start = l.start, 0
	}
	l.decide(now, requestHold)
}

// ramp begins or continues a start.
func (l *latency) ramp(now lethe.Time, busy bool) {
	switch {
	case !busy:
		return
	case l.beside == 0 || now.Sub(l.beside) >= startPause:
		if l.start, l.eased = 0, now; l.many {
			l.start = Slowest
		}
	case l.start > 0 && now.Sub(l.eased) >= startHold:
		l.start, l.eased = l.start-1, now
	}
	l.beside = now
}

// advance closes the window if it is time.
func (l *latency) advance(now lethe.Time, busy bool, limit float64) {
	if l.last == 0 {
		return
	}
	if now.Sub(l.last) >= clientsGone {
		*l = latency{took: l.took[:0], usual: l.usual}
		return
	}
	l.ramp(now, busy)
	age := now.Sub(l.began)
	if age < windowMin || age < windowMax && len(l.took) < windowRequests {
		return
	}
	l.busy = l.busy || busy
	l.close(now, limit)
	l.took, l.busy, l.anySlow, l.began = l.took[:0], false, false, now
}

// close learns from a window.
func (l *latency) close(now lethe.Time, limit float64) {
	l.many = len(l.took) >= fewRequests || l.busy && l.usual > 0 && sum(l.took) >= now.Sub(l.began)/2
	if !l.many {
		l.set(now, 0)
		return
	}
	slowest := quantile(l.took, 99)
	switch {
	case !l.busy && l.usual == 0:
		l.usual = slowest
	case !l.busy:
		l.usual += (slowest - l.usual) / 4
		l.set(now, l.level-1)
	case l.usual == 0 && l.level != Slowest:
		// Busy since the start: the latency at the slowest level stands for the usual one.
		l.set(now, Slowest)
	case l.usual == 0:
		l.usual = slowest
		l.set(now, l.level-1)
	case time.Duration(limit*float64(slowest)) < l.usual:
		l.usual -= (l.usual - slowest) / 8
	}
	if l.busy && !l.anySlow && now.Sub(l.changed) >= windowMax {
		l.set(now, l.level-1)
	}
}

func sum(list []time.Duration) (d time.Duration) {
	for _, x := range list {
		d += x
	}
	return d
}

// quantile sorts a list that is not empty, and returns the value that percent of it
// are below.
func quantile(list []time.Duration, percent int) time.Duration {
	slices.Sort(list)
	return list[len(list)*percent/100]
}
