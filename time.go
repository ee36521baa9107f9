package lethe

import (
	"context"
	"math"
	"time"
)

// Time is an instant in microseconds since 1970-01-01 UTC, as stored in the
// ledger. Zero means "none" wherever a time is optional.
type Time int64

// Forever is later than every instant that is stored.
const Forever Time = math.MaxInt64

// DefaultReadGrace is how long the bytes of a removed object stay for those who read it
// (docs/protocol.md, rule 18), unless configured otherwise. Readers, the ledger and the
// engine use the same value.
const DefaultReadGrace = time.Minute

// DefaultMovedGrace is how long the blobs of a content that was moved into the ledger stay,
// unless configured otherwise: for the restore of a backup of up to that age.
const DefaultMovedGrace = 7 * 24 * time.Hour

// FromTime converts a time.Time, truncating to microseconds.
func FromTime(t time.Time) Time { return Time(t.UnixMicro()) }

// Time converts to a time.Time in UTC.
func (t Time) Time() time.Time { return time.UnixMicro(int64(t)).UTC() }

// Add returns t+d; it saturates at Forever instead of overflowing.
func (t Time) Add(d time.Duration) Time {
	us := Time(d / time.Microsecond)
	if us > 0 && t > Forever-us {
		return Forever
	}
	return t + us
}

// Backoff returns how long to wait after failures: least, doubled so many times, at most most.
func Backoff(least, most time.Duration, doubled int) time.Duration {
	d := least
	for range doubled {
		if d >= most/2 {
			return most
		}
		d *= 2
	}
	return min(d, most)
}

// Sub returns the duration t-u; like time.Time's it saturates at the longest
// Duration, some 292 years, instead of overflowing.
func (t Time) Sub(u Time) time.Duration {
	const most = Time(math.MaxInt64 / int64(time.Microsecond))
	d := t - u
	switch {
	case t > 0 && u < 0 && d < 0, d > most:
		return math.MaxInt64
	case t < 0 && u > 0 && d > 0, d < -most:
		return math.MinInt64
	}
	return time.Duration(d) * time.Microsecond
}

// String returns RFC 3339 in UTC with microseconds, or "-" for none.
func (t Time) String() string {
	if t == 0 {
		return "-"
	}
	if t == Forever {
		return "never"
	}
	return t.Time().Format("2006-01-02T15:04:05.000000Z")
}

// Clock returns the time. The ledger's clock decides; tests and the simulation set their
// own.
type Clock interface {
	Now() Time
}

// SystemClock is the machine's clock, read nowhere else.
type SystemClock struct{}

// Now returns the current time in microseconds.
func (SystemClock) Now() Time { return FromTime(time.Now()) }

// started is the zero of Monotonic where the machine's start is not known.
var started = time.Now()

// Monotonic is a clock that neither jumps nor runs back when the machine's clock is set. On
// Linux it includes time in which the machine slept or the process was stopped, elsewhere
// only the latter. Only differences of its times have a meaning. It begins at 1 s when the
// machine starts (Linux, BootID) or when the process does. Use it for durations, never for
// what is due.
type Monotonic struct{}

// Now returns the time since the machine or the process started, plus one second.
func (Monotonic) Now() Time {
	since, ok := sinceBoot()
	if !ok {
		since = time.Since(started)
	}
	return Time((since + time.Second) / time.Microsecond)
}

// Awake is Monotonic without the time in which the machine slept. It makes no system call
// (BenchmarkClocks in bench), so it is for how long work took, and for pacing: nothing that is due,
// claimed or trusted goes by it.
type Awake struct{}

// Now returns the time that the process has run, plus one second.
func (Awake) Now() Time { return Time((time.Since(started) + time.Second) / time.Microsecond) }

// BootID identifies the machine start from which Monotonic counts, so that its times can be
// compared across restarts of the process; empty where it is not known.
func BootID() string { return bootID() }

// Sleep waits for d, or until ctx ends and returns its error. It does not wait if d is 0 or
// less.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
