// Package clocktest has the clocks of tests.
package clocktest

import (
	"sync/atomic"
	"time"

	"github.com/lethe-storage/lethe"
)

// Clock stands until it is moved.
type Clock struct{ now atomic.Int64 }

// New returns a clock that stands at some instant of the present.
func New() *Clock { return At(1_800_000_000_000_000) }

// At returns a clock that stands at an instant.
func At(now lethe.Time) *Clock {
	c := &Clock{}
	c.now.Store(int64(now))
	return c
}

// Now returns the instant at which the clock stands.
func (c *Clock) Now() lethe.Time { return lethe.Time(c.now.Load()) }

// Set has the clock stand at an instant.
func (c *Clock) Set(now lethe.Time) { c.now.Store(int64(now)) }

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) { c.now.Add(d.Microseconds()) }

// Ahead is the machine's clock, ahead by what a test says.
type Ahead struct{ by atomic.Int64 }

// Now returns the time by which the clock goes.
func (c *Ahead) Now() lethe.Time { return lethe.SystemClock{}.Now() + lethe.Time(c.by.Load()) }

// Advance puts the clock further ahead.
func (c *Ahead) Advance(d time.Duration) { c.by.Add(d.Microseconds()) }
