package s3blob

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// Pauses after the service requested one without its length.
const (
	firstPause   = 200 * time.Millisecond
	longestPause = 5 * time.Second
)

// leastBatch is the smallest batch to which slowness reduces a request.
const leastBatch = 1

// paceOptions bound a pace.
type paceOptions struct {
	Batch, Concurrency int // the most
	Clock              lethe.Clock
	Changed            func(batch, concurrency int)
}

// pace decides how many keys one request deletes, and how many requests run at
// once. It begins at the maximum. A throttled request halves the requests at once,
// then the keys; slowness halves the keys, then the requests; success adds a little
// of the difference (additive increase, multiplicative decrease).
type pace struct {
	o paceOptions

	mu      sync.Mutex
	batch   int
	limit   int
	running int
	good    int        // successful requests since the limits changed
	epoch   int        // counts decreases: one burst of refusals decreases once
	pauses  int        // in a row
	until   lethe.Time // no request before
	changed chan struct{}
}

func newPace(o paceOptions) *pace {
	return &pace{o: o, batch: o.Batch, limit: o.Concurrency, changed: make(chan struct{})}
}

func (p *pace) limits() (batch, concurrency int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.batch, p.limit
}

// slot is the permission to send one request.
type slot struct {
	p     *pace
	batch int // keys it may have
	epoch int
}

// enter waits for the permission to send a request. A pause of more than patience
// is an outage.
func (p *pace) enter(ctx context.Context, patience time.Duration) (slot, error) {
	for {
		p.mu.Lock()
		pause := p.until.Sub(p.o.Clock.Now())
		if pause <= 0 && p.running < p.limit {
			p.running++
			sl := slot{p, p.batch, p.epoch}
			p.mu.Unlock()
			return sl, nil
		}
		changed := p.changed
		p.mu.Unlock()
		if pause > patience {
			return slot{}, fmt.Errorf("%w: the service requested a pause of another %s", blob.ErrDown, pause.Round(time.Second))
		}
		if err := await(ctx, changed, pause); err != nil {
			return slot{}, err
		}
	}
}

// await waits until the channel is closed, or the pause (if there is one) is over.
func await(ctx context.Context, changed chan struct{}, pause time.Duration) error {
	var over <-chan time.Time
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		over, changed = timer.C, nil
	}
	select {
	case <-changed:
		return nil
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave ends a request, and returns the pause that follows.
func (sl slot) leave(v verdict) time.Duration {
	p := sl.p
	p.mu.Lock()
	batch, limit := p.batch, p.limit
	p.running--
	var wait time.Duration
	switch {
	case v.slow:
		wait = p.shrink(sl, v)
	case v.err == nil:
		p.grow()
	}
	close(p.changed)
	p.changed = make(chan struct{})
	told := p.o.Changed != nil && (batch != p.batch || limit != p.limit)
	batch, limit = p.batch, p.limit
	p.mu.Unlock()
	if told {
		p.o.Changed(batch, limit)
	}
	return wait
}

// shrink decreases the limits, once for all requests that ran at the same time.
func (p *pace) shrink(sl slot, v verdict) time.Duration {
	p.good = 0
	first := sl.epoch == p.epoch
	throttled := v.status != 0 || v.code != ""
	wait := v.wait
	if first && throttled && wait == 0 {
		wait = min(firstPause<<min(p.pauses, 10), longestPause)
	}
	now := p.o.Clock.Now()
	p.until = max(p.until, now.Add(wait))
	if first {
		p.epoch++
		p.pauses++
		if throttled && p.limit > 1 || p.batch <= leastBatch {
			p.limit = max(p.limit/2, 1)
		} else {
			p.batch = max(p.batch/2, leastBatch)
		}
	}
	return max(p.until.Sub(now), 0)
}

// grow increases the limits a little after each round of successful requests.
func (p *pace) grow() {
	p.pauses = 0
	if p.batch == p.o.Batch && p.limit == p.o.Concurrency {
		return
	}
	if p.good++; p.good < p.limit {
		return
	}
	p.good = 0
	if p.batch < p.o.Batch {
		p.batch = min(p.batch+max(p.o.Batch/20, 1), p.o.Batch)
		return
	}
	p.limit = min(p.limit+1, p.o.Concurrency)
}
