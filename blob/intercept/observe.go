package intercept

import (
	"context"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// Watch is called before a call, in its goroutine. It returns the context of the
// call, and a function that is called once when it has ended: for a Get, when its
// body is closed. Both return fast.
type Watch func(ctx context.Context, op string) (context.Context, func(Report))

// Observation is a hook that reports each call as it begins and ends, for metrics
// and traces. It changes no result.
type Observation struct {
	Watch Watch
	// Clock measures the calls, and should never jump.
	Clock lethe.Clock
}

// Around implements Hook.
func (o Observation) Around(c *Call) error {
	outer := c.Ctx
	ctx, ended := o.Watch(outer, c.Op)
	c.Ctx = ctx
	began := o.Clock.Now()
	err := c.Next()
	c.Ctx, c.Took, c.Err = outer, o.Clock.Now().Sub(began), err
	switch {
	case err == nil && c.Op == Get:
		c.Closed = func() { ended(c.Report) }
		return nil
	case c.Op == Delete:
		c.countFailed()
	case c.Op == List && c.CallerFailed:
		c.Err = nil
	}
	ended(c.Report)
	return err
}

// countFailed records the keys of a Delete that failed.
func (c *Call) countFailed() {
	c.Failed = c.Keys - len(c.Results)
	for _, r := range c.Results {
		if !blob.Gone(r.Err) {
			c.Failed++
			if c.Err == nil {
				c.Err = r.Err
			}
		}
	}
}
