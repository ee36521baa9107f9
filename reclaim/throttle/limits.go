package throttle

import (
	"context"
	"math"
	"time"

	"golang.org/x/time/rate"
)

// Limit bounds deletes on a backend; 0 is no limit.
type Limit struct {
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

// limits hold deleting to what the operator allows, on each backend and in all. All
// instances share them: each takes its part.
//
// How many blobs a call deletes is known only after it was allowed. So a limit is
// exceeded by a batch at most, and the next call waits until that is made up for.
type limits struct {
	of        map[string]*limited // by backend; all of them together: ""
	instances int
}

// limited is what is left of one limit.
type limited struct {
	limit          Limit // of all instances
	share          Limit // of this one
	deletes, calls *rate.Limiter
	running        int
}

// batchTime is how much of a limit a batch may use up: a claim must not wait long
// for its deletes.
const batchTime = 10 * time.Second

// SetLimits sets the limits of all backends together, and of each.
func (c *Controller) SetLimits(all Limit, of map[string]Limit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Clock.Now().Time()
	for id, l := range c.limits.of {
		l.limit = of[id]
	}
	for id, limit := range of {
		c.limits.get(id).limit = limit
	}
	c.limits.get("").limit = all
	c.limits.divide(now, c.limits.instances)
}

// Limit returns the limit of a backend, before it is divided; that of all together if
// none is named.
func (c *Controller) Limit(backend string) Limit {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limits.get(backend).limit
}

// Limited reports whether a call on a backend would wait for a limit now.
func (c *Controller) Limited(backend string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limits.wait(c.Clock.Now().Time(), backend) > 0
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
	if wait := c.limits.wait(now, backend); wait > 0 {
		return min(wait, time.Second) // limits may change meanwhile
	}
	for _, l := range c.limits.both(backend) {
		l.running++
		take(l.calls, now, 1)
	}
	return 0
}

func (c *Controller) end(backend string, deleted int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.limits.both(backend) {
		l.running--
		take(l.deletes, c.Clock.Now().Time(), deleted)
	}
}

// take takes n from a limit at once, even if less is left.
func take(l *rate.Limiter, now time.Time, n int) {
	for n > 0 {
		part := min(n, l.Burst())
		l.ReserveN(now, part)
		n -= part
	}
}

func (l *limits) get(backend string) *limited {
	if l.of == nil {
		l.of = make(map[string]*limited)
	}
	if l.of[backend] == nil {
		l.of[backend] = &limited{deletes: unlimited(), calls: unlimited()}
	}
	return l.of[backend]
}

// unlimited has all that the first limit that is set allows at once.
func unlimited() *rate.Limiter { return rate.NewLimiter(rate.Inf, math.MaxInt32) }

// both are the limits of all backends together and of one.
func (l *limits) both(backend string) [2]*limited {
	return [2]*limited{l.get(""), l.get(backend)}
}

// divide gives this instance its part of each limit.
func (l *limits) divide(now time.Time, instances int) {
	l.instances = max(instances, 1)
	n := float64(l.instances)
	for _, x := range l.of {
		x.share = Limit{Deletes: x.limit.Deletes / n, Calls: x.limit.Calls / n}
		if x.limit.InFlight > 0 {
			x.share.InFlight = max(x.limit.InFlight/l.instances, 1)
		}
		set(x.deletes, now, x.share.Deletes)
		set(x.calls, now, x.share.Calls)
	}
}

// set changes a limit. What is not used is kept for a second.
func set(l *rate.Limiter, now time.Time, perSecond float64) {
	if perSecond == 0 {
		l.SetLimitAt(now, rate.Inf)
		return
	}
	l.SetLimitAt(now, rate.Limit(perSecond))
	l.SetBurstAt(now, max(int(perSecond), 1))
}

// size is how much of a batch the limits allow at once.
func (l *limits) size(backend string, size int) int {
	for _, x := range l.both(backend) {
		if x.share.Deletes > 0 {
			size = min(size, max(int(x.share.Deletes*batchTime.Seconds()), 1))
		}
	}
	return size
}

// inFlightWait is the interval of checks whether a call has ended.
const inFlightWait = 10 * time.Millisecond

// wait is how long a call has to wait for the limits; 0: it may begin.
func (l *limits) wait(now time.Time, backend string) (wait time.Duration) {
	for _, x := range l.both(backend) {
		wait = max(wait, missing(x.deletes, now), missing(x.calls, now))
		if x.share.InFlight > 0 && x.running >= x.share.InFlight {
			wait = max(wait, inFlightWait)
		}
	}
	return wait
}

// missing is how long it takes until a limit has something left.
func missing(l *rate.Limiter, now time.Time) time.Duration {
	left := l.TokensAt(now)
	if l.Limit() == rate.Inf || left > 0 {
		return 0
	}
	return time.Duration(-left/float64(l.Limit())*float64(time.Second)) + time.Millisecond
}
