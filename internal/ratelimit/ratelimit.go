// Package ratelimit bounds the rate of events for each of many names, in
// bounded memory. What happens beyond a rate is up to its callers.
package ratelimit

import (
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/time/rate"

	"github.com/lethe-storage/lethe"
)

// maxNames bounds the remembered names; the least recently used one is dropped
// first.
const maxNames = 10_000

// Rate is a number of requests per second, and how many may come at once. The
// zero value is no limit.
type Rate struct {
	PerSecond float64
	Burst     int // default: PerSecond, at least 1
}

// Limiter has one allowance for each of the most recently used names. It is
// safe for concurrent use.
type Limiter struct {
	rate  Rate
	clock lethe.Clock
	mu    sync.Mutex
	by    *simplelru.LRU[string, *rate.Limiter]
}

// New returns a limiter; a nil clock is lethe.Monotonic.
func New(r Rate, clock lethe.Clock) *Limiter {
	if r.Burst == 0 {
		r.Burst = max(1, int(r.PerSecond))
	}
	if clock == nil {
		clock = lethe.Monotonic{}
	}
	// It fails only for a size of 0.
	by, _ := simplelru.NewLRU[string, *rate.Limiter](maxNames, nil)
	return &Limiter{rate: r, clock: clock, by: by}
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
	lim, known := l.by.Get(name)
	if !known {
		lim = rate.NewLimiter(rate.Limit(l.rate.PerSecond), l.rate.Burst)
		l.by.Add(name, lim)
	}
	if lim.AllowN(now, 1) {
		return 0, true
	}
	missing := 1 - lim.TokensAt(now)
	return time.Duration(missing / l.rate.PerSecond * float64(time.Second)), false
}

// Spent reports whether the allowance of a name is used up, and for how long;
// it takes nothing.
func (l *Limiter) Spent(name string) (wait time.Duration, spent bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lim, known := l.by.Peek(name)
	if !known {
		return 0, false
	}
	missing := 1 - lim.TokensAt(l.clock.Now().Time())
	if missing <= 0 {
		return 0, false
	}
	return time.Duration(missing / l.rate.PerSecond * float64(time.Second)), true
}
