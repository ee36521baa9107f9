package sim

import (
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/reclaim/throttle"
)

// rated says that an operator allows only so many deletes, and calls, a second in this
// world, on each backend and in all: so few that work waits for it.
func (w *World) rated() bool { return !w.cfg.Plans && hash2(w.cfg.Seed, 44)%8 == 0 }

// allowed is what is allowed on a backend, or on all together if none is named, before it
// is divided among the processes.
func (w *World) allowed(backend string) (l throttle.Rate) {
	h := draw(w.cfg.Seed, 45, uint64(len(backend)), uint64(append([]byte(backend), 0)[0]))
	if h%4 > 0 {
		l.Deletes = []float64{0.02, 0.1, 1, 0}[h>>8%4]
	}
	if h>>16%3 == 0 {
		l.Calls = []float64{0.01, 0.2}[h>>24%2]
	}
	if h>>32%3 == 0 {
		l.InFlight = processCount // one in each
	}
	return l
}

// throttle is what holds the deletes of a node back.
func (w *World) throttle() *throttle.Controller {
	if !w.rated() {
		return nil
	}
	c := &throttle.Controller{Clock: w, Sleep: w.sleep}
	of := map[string]throttle.Rate{}
	for _, id := range w.backends() {
		of[id] = w.allowed(id)
	}
	c.SetRates(w.allowed(""), of)
	c.SetPeers(slices.Repeat([]throttle.Peer{{Reclaims: true}}, processCount-1))
	return c
}

// asked is a call that deletes, by when it was sent.
type asked struct {
	at      lethe.Time
	backend string
	keys    int
}

// calls are those of one life of a process. What the limits count lies in its memory,
// so that a crash forgets it.
type calls struct {
	sent  []asked
	under map[string]int // way, by backend
}

// sends notes a call that is sent to a backend, and holds all of its process against
// what is allowed.
func (w *World) sends(backend string, keys int) error {
	a := w.cur
	if a == nil || !w.rated() {
		return nil
	}
	c := &a.proc.node.calls
	c.sent = append(c.sent, asked{w.now, backend, keys})
	for _, of := range []string{"", backend} {
		if err := w.throttled(c, of); err != nil {
			return err
		}
	}
	return nil
}

// throttled: over no span of time were more keys asked to be deleted than the process's
// share of the limit lets go in it, and one that may be kept for a second, and two
// batches of each worker: what a call deletes counts when it has ended, and for the time
// that it took, so that there is one of each that was begun before, and one at the end.
func (w *World) throttled(c *calls, of string) error {
	l, n := w.allowed(of), 0
	rate, most := l.Deletes/processCount, 0
	called, calls := l.Calls/processCount, 0
	for _, x := range slices.Backward(c.sent) {
		if of != "" && x.backend != of {
			continue
		}
		n, calls, most = n+x.keys, calls+1, max(most, x.keys)
		span := w.now.Sub(x.at).Seconds()
		if sum := rate*span + max(rate, 1) + float64(2*most*w.cfg.Workers); rate > 0 && float64(n) > sum {
			return broken("%d blobs were deleted on %q within %s, %.2f a second are allowed", n, of, w.now.Sub(x.at), rate)
		}
		if sum := called*span + max(called, 1) + float64(w.cfg.Workers); called > 0 && float64(calls) > sum {
			return broken("%d calls deleted on %q within %s, %.2f a second are allowed", calls, of, w.now.Sub(x.at), called)
		}
	}
	return nil
}

// underWay: no more calls are under way on a backend, nor in all, than may be at once.
func (w *World) underWay(backend string) (ended func(), err error) {
	a := w.cur
	if a == nil || !w.rated() {
		return func() {}, nil
	}
	c := &a.proc.node.calls
	if c.under == nil {
		c.under = map[string]int{}
	}
	for _, of := range []string{"", backend} {
		c.under[of]++
		if l := w.allowed(of); l.InFlight > 0 && c.under[of] > l.InFlight/processCount {
			err = broken("%d calls delete on %q at once, %d may", c.under[of], of, l.InFlight/processCount)
		}
	}
	return func() {
		c.under[""]--
		c.under[backend]--
	}, err
}
