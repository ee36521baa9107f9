package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
)

const (
	// pulseEvery is how often it is asked whether the ledger answers.
	pulseEvery = 2 * time.Second
	// pulseTime is how long it may take to.
	pulseTime = 5 * time.Second
)

// pulse follows whether the ledger answers, and how fast. While it does not, the
// routines wait, and one line of the log says so.
type pulse struct {
	ask func(context.Context) error
	log *slog.Logger

	mu   sync.Mutex
	down lethe.Time // since when it does not answer; 0: it does
	took time.Duration
}

// run asks until ctx ends.
func (p *pulse) run(ctx context.Context) {
	tick := time.NewTicker(pulseEvery)
	defer tick.Stop()
	for {
		p.beat(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// beat asks once.
func (p *pulse) beat(ctx context.Context) {
	clock := lethe.Monotonic{}
	start := clock.Now()
	asked, cancel := context.WithTimeout(ctx, pulseTime)
	defer cancel()
	err := p.ask(asked)
	if ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := clock.Now()
	switch {
	case err != nil && p.down == 0:
		p.down = start
		p.log.Error("THE DATABASE DOES NOT ANSWER: requests get 503 and routines wait until it answers", "error", err)
	case err == nil && p.down != 0:
		p.log.Info("the database answers again", "after", now.Sub(p.down).Round(time.Millisecond).String())
		p.down = 0
	}
	p.took = now.Sub(start)
}

// answers reports whether it did when it was last asked.
func (p *pulse) answers() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.down == 0
}

// latency is how long the last answer took.
func (p *pulse) latency() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.took
}
