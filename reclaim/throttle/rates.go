package throttle

import (
	"context"
	"math"
	"time"

	"golang.org/x/time/rate"
)

// Rate bounds deletes on a backend; 0 is no limit.
type Rate struct {
	Deletes  float64 // blobs a second
	Calls    float64 // delete calls a second
	InFlight int     // delete calls at once
}

// PerSecond returns a function that waits until n more may be done. It spreads a
// second's work: burst at once, or a tenth of a second's if that is more. It
// returns nil if perSecond is 0: no limit.
func PerSecond[N int | int64](perSecond, burst int) func(ctx context.Context, n N) error {
	if perSecond <= 0 {
		return nil
	}
	limit := rate.NewLimiter(rate.Limit(perSecond), max(burst, perSecond/10, 1))
	return func(ctx context.Context, n N) error {
		for n > 0 {
			part := min(n, N(limit.Burst()))
			if err := limit.WaitN(ctx, int(part)); err != nil {
				return err
			}
			n -= part
		}
		return nil
	}
}

// rates hold deleting to what the operator allows, on each backend and in all. All
// instances share them: each takes its part.
//
// How many blobs a call deletes is known only after it was allowed. So a rate is
// exceeded by a batch at most, and the next call waits until that is made up for.
type rates struct {
	of        map[string]*rateLimiter // by backend; all of them together: ""
	instances int
}

// rateLimiter is what is left of one rate.
type rateLimiter struct {
	rate           Rate // of all instances
	share          Rate // of this one
	deletes, calls *rate.Limiter
	running        int
}

// batchTime is how much of a rate a batch may use up: a claim must not wait long
// for its deletes.
const batchTime = 10 * time.Second

// SetRates sets the rates of all backends together, and of each.
func (c *Controller) SetRates(all Rate, of map[string]Rate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Clock.Now().Time()
	for id, l := range c.rates.of {
		l.rate = of[id]
	}
	for id, own := range of {
		c.rates.get(id).rate = own
	}
	c.rates.get("").rate = all
	c.rates.divide(now, c.rates.instances)
}

// Rate returns the rate of a backend, before it is divided; that of all together if
// none is named.
func (c *Controller) Rate(backend string) Rate {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rates.get(backend).rate
}

// Limited reports whether a call on a backend would wait for a rate now.
func (c *Controller) Limited(backend string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rates.wait(c.Clock.Now().Time(), backend) > 0
}

// Call waits until a delete call on a backend is allowed. The returned function
// records that it ended, and how many blobs it deleted. The error is that of ctx.
func (c *Controller) Call(ctx context.Context, backend string) (end func(deleted int), err error) {
	if c == nil {
		return func(int) {}, nil
	}
	for {
		wait := c.begin(backend)
		if wait == 0 {
			return func(deleted int) { c.end(backend, deleted) }, nil
		}
		if err := c.wait(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// begin begins a call, or returns how long to wait before it is tried again.
func (c *Controller) begin(backend string) (wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Clock.Now().Time()
	if wait := c.rates.wait(now, backend); wait > 0 {
		return min(wait, time.Second) // rates may change meanwhile
	}
	for _, l := range c.rates.both(backend) {
		l.running++
		take(l.calls, now, 1)
	}
	return 0
}

func (c *Controller) end(backend string, deleted int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.rates.both(backend) {
		l.running--
		take(l.deletes, c.Clock.Now().Time(), deleted)
	}
}

// take takes n from a rate at once, even if less is left.
func take(l *rate.Limiter, now time.Time, n int) {
	for n > 0 {
		part := min(n, l.Burst())
		l.ReserveN(now, part)
		n -= part
	}
}

func (r *rates) get(backend string) *rateLimiter {
	if r.of == nil {
		r.of = make(map[string]*rateLimiter)
	}
	if r.of[backend] == nil {
		r.of[backend] = &rateLimiter{deletes: unlimited(), calls: unlimited()}
	}
	return r.of[backend]
}

// unlimited has all that the first rate that is set allows at once.
func unlimited() *rate.Limiter { return rate.NewLimiter(rate.Inf, math.MaxInt32) }

// both are the rates of all backends together and of one.
func (r *rates) both(backend string) [2]*rateLimiter {
	return [2]*rateLimiter{r.get(""), r.get(backend)}
}

// divide gives this instance its part of each rate.
func (r *rates) divide(now time.Time, instances int) {
	r.instances = max(instances, 1)
	n := float64(r.instances)
	for _, x := range r.of {
		x.share = Rate{Deletes: x.rate.Deletes / n, Calls: x.rate.Calls / n}
		if x.rate.InFlight > 0 {
			x.share.InFlight = max(x.rate.InFlight/r.instances, 1)
		}
		set(x.deletes, now, x.share.Deletes)
		set(x.calls, now, x.share.Calls)
	}
}

// set changes a rate. Unused permits are kept for a second.
func set(l *rate.Limiter, now time.Time, perSecond float64) {
	if perSecond == 0 {
		l.SetLimitAt(now, rate.Inf)
		return
	}
	l.SetLimitAt(now, rate.Limit(perSecond))
	l.SetBurstAt(now, max(int(perSecond), 1))
}

// size is how much of a batch the rates allow at once.
func (r *rates) size(backend string, size int) int {
	for _, x := range r.both(backend) {
		if x.share.Deletes > 0 {
			size = min(size, max(int(x.share.Deletes*batchTime.Seconds()), 1))
		}
	}
	return size
}

// inFlightWait is the interval of checks whether a call has ended.
const inFlightWait = 10 * time.Millisecond

// wait is how long a call has to wait for the rates; 0: it may begin.
func (r *rates) wait(now time.Time, backend string) (wait time.Duration) {
	for _, x := range r.both(backend) {
		wait = max(wait, missing(x.deletes, now), missing(x.calls, now))
		if x.share.InFlight > 0 && x.running >= x.share.InFlight {
			wait = max(wait, inFlightWait)
		}
	}
	return wait
}

// missing is how long it takes until a rate has something left.
func missing(l *rate.Limiter, now time.Time) time.Duration {
	left := l.TokensAt(now)
	if l.Limit() == rate.Inf || left > 0 {
		return 0
	}
	return time.Duration(-left/float64(l.Limit())*float64(time.Second)) + time.Millisecond
}
