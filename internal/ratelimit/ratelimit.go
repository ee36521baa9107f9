// Package ratelimit bounds how often each of many names may do something, in
// bounded memory.
package ratelimit

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/lethe-storage/lethe"
)

// maxNames bounds the names that are remembered.
const maxNames = 10_000

// Rate is a number of requests per second, and how many may come at once. The
// zero value is no limit.
type Rate struct {
	PerSecond float64
	Burst     int // default: PerSecond, at least 1
}

// Limiter holds one allowance for each name, for those that were seen last. It
// is safe for concurrent use.
type Limiter struct {
	rate  Rate
	clock lethe.Clock
	mu    sync.Mutex
	by    map[string]*rate.Limiter
}

// New makes a limiter; clock nil is lethe.Monotonic.
func New(r Rate, clock lethe.Clock) *Limiter {
	if r.Burst == 0 {
		r.Burst = max(1, int(r.PerSecond))
	}
	if clock == nil {
		clock = lethe.Monotonic{}
	}
	return &Limiter{rate: r, clock: clock, by: map[string]*rate.Limiter{}}
}

// Allow takes one request from the allowance of a name. If there is none left it
// takes nothing and returns how long until there is one.
func (l *Limiter) Allow(name string) (wait time.Duration, ok bool) {
	if l.rate.PerSecond <= 0 {
		return 0, true
	}
	now := l.clock.Now().Time()
	l.mu.Lock()
	defer l.mu.Unlock()
	lim, known := l.by[name]
	if !known {
		if len(l.by) >= maxNames {
			l.forget(now)
		}
		lim = rate.NewLimiter(rate.Limit(l.rate.PerSecond), l.rate.Burst)
		l.by[name] = lim
	}
	if lim.AllowN(now, 1) {
		return 0, true
	}
	missing := 1 - lim.TokensAt(now)
	return time.Duration(missing / l.rate.PerSecond * float64(time.Second)), false
}

// Spent says whether the allowance of a name is used up, and how long until it is
// not; it takes nothing.
func (l *Limiter) Spent(name string) (wait time.Duration, spent bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lim, known := l.by[name]
	if !known {
		return 0, false
	}
	missing := 1 - lim.TokensAt(l.clock.Now().Time())
	if missing <= 0 {
		return 0, false
	}
	return time.Duration(missing / l.rate.PerSecond * float64(time.Second)), true
}

// forget drops the names whose allowance is full, and all if there are none such.
func (l *Limiter) forget(now time.Time) {
	for name, lim := range l.by {
		if lim.TokensAt(now) >= float64(l.rate.Burst) {
			delete(l.by, name)
		}
	}
	if len(l.by) >= maxNames {
		clear(l.by)
	}
}
