package throttle

import (
	"math/bits"
	"time"

	"github.com/lethe-storage/lethe"
)

const (
	// slowWork is the part of the work that may be slow: the median decides.
	slowWork = 0.5
	// workSlack is a difference that does not matter.
	workSlack = 10 * time.Millisecond
	// workHold is how long a level is kept at least, and how long samples are
	// collected at least to learn from them.
	workHold = 2 * time.Second
	// workSamples are enough to learn from.
	workSamples = 5
	// workMemory is how many times what is usual is learnt until it has risen to what
	// has become slower for good.
	workMemory = 256
	// workGone is how long after the last sample nothing is known of the load.
	workGone = 30 * time.Second
)

// load monitors a database or a backend by the durations of the engine's work on
// it. Work is compared with work of the same kind and about the same size.
type load struct {
	backoff
	usual map[work]*usual
	last  lethe.Time
}

// work is a kind of work by its size, in powers of two.
type work struct {
	kind string
	size int
}

// usual is what a kind of work usually takes.
type usual struct {
	known  bool
	median time.Duration
	took   []time.Duration // since it was learnt
	since  lethe.Time
}

// note takes work on n rows or keys. Limit is how many times the usual duration is slow.
func (l *load) note(now lethe.Time, kind string, n int, took time.Duration, limit float64) {
	l.advance(now)
	l.last = now
	if l.usual == nil {
		l.usual = make(map[work]*usual)
	}
	k := work{kind, bits.Len(uint(max(n, 0)))}
	u := l.usual[k]
	if u == nil {
		u = &usual{since: now}
		l.usual[k] = u
	}
	if u.known {
		l.count(took > max(time.Duration(limit*float64(u.median)), u.median+workSlack), slowWork)
		l.decide(now, workHold)
	}
	u.took = append(u.took, took)
	if len(u.took) >= workSamples && now.Sub(u.since) >= workHold {
		u.learn()
		u.since = now
	}
}

// learn takes the lowest median, which rises slowly.
func (u *usual) learn() {
	median := quantile(u.took, 50)
	if u.known && median > u.median {
		median = u.median + (min(median, 4*u.median)-u.median)/workMemory
	}
	u.known, u.median, u.took = true, median, u.took[:0]
}

// advance ends the backoff if there was no work for a while.
func (l *load) advance(now lethe.Time) {
	if now.Sub(l.last) >= workGone {
		l.set(now, 0)
	}
}
