package s3

import (
	"sync"

	"golang.org/x/time/rate"

	"github.com/lethe-storage/lethe"
)

// maxLimiters bounds the memory for those that are limited.
const maxLimiters = 10_000

// Rate is a number of requests per second, and how many may come at once. The
// zero value is no limit.
type Rate struct {
	PerSecond float64
	Burst     int // default: PerSecond, at least 1
}

// limiters holds one limiter for each name, for those that were seen last.
type limiters struct {
	rate Rate
	mu   sync.Mutex
	by   map[string]*rate.Limiter
}

func newLimiters(r Rate) *limiters {
	if r.Burst == 0 {
		r.Burst = max(1, int(r.PerSecond))
	}
	return &limiters{rate: r, by: map[string]*rate.Limiter{}}
}

// allow takes one request from the allowance of a name.
func (l *limiters) allow(name string) bool {
	if l.rate.PerSecond <= 0 {
		return true
	}
	now := lethe.Monotonic{}.Now().Time()
	l.mu.Lock()
	defer l.mu.Unlock()
	lim, ok := l.by[name]
	if !ok {
		if len(l.by) >= maxLimiters {
			l.forget()
		}
		lim = rate.NewLimiter(rate.Limit(l.rate.PerSecond), l.rate.Burst)
		l.by[name] = lim
	}
	return lim.AllowN(now, 1)
}

// forget drops those that are as good as new, and all if there are none such.
func (l *limiters) forget() {
	now := lethe.Monotonic{}.Now().Time()
	for name, lim := range l.by {
		if lim.TokensAt(now) >= float64(l.rate.Burst) {
			delete(l.by, name)
		}
	}
	if len(l.by) >= maxLimiters {
		clear(l.by)
	}
}
