package redisconn

import (
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
)

const (
	// tripAfter failures in a row the server counts as down.
	tripAfter = 3
	// restMin and restMax bound the time between two probes; it doubles.
	restMin = time.Second
	restMax = 15 * time.Second
)

// circuit decides whether commands are sent.
type circuit struct {
	clock  lethe.Clock // monotonic
	events Events

	mu      sync.Mutex
	failed  int // in a row
	open    bool
	rest    time.Duration
	probeAt lethe.Time
	probing bool
}

// allow returns nil if a command may be sent. Otherwise probe reports that the
// server is to be probed, to one caller at a time.
func (c *circuit) allow() (probe bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.open {
		return false, nil
	}
	if c.probing || c.clock.Now() < c.probeAt {
		return false, ErrDown
	}
	c.probing = true
	return true, ErrDown
}

// report records how a command ended.
func (c *circuit) report(err error) {
	c.mu.Lock()
	if err == nil {
		c.failed = 0
		c.mu.Unlock()
		return
	}
	c.failed++
	trips := !c.open && c.failed >= tripAfter
	if trips {
		c.open, c.rest = true, restMin
		c.probeAt = c.clock.Now().Add(c.rest)
	}
	c.mu.Unlock()
	if trips && c.events.Down != nil {
		c.events.Down(err)
	}
}

// probed records the result of a probe.
func (c *circuit) probed(err error) {
	c.mu.Lock()
	c.probing = false
	if err != nil {
		c.rest = min(2*c.rest, restMax)
		c.probeAt = c.clock.Now().Add(c.rest)
		c.mu.Unlock()
		return
	}
	was := c.open
	c.open, c.failed = false, 0
	c.mu.Unlock()
	if was && c.events.Up != nil {
		c.events.Up()
	}
}

// pinged records the result of a question that is asked whether commands are sent or not.
func (c *circuit) pinged(err error) {
	switch {
	case c.up():
		c.report(err)
	case err == nil:
		c.probed(nil)
	}
}

func (c *circuit) up() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.open
}
