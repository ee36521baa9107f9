package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
)

const (
	// healthCheckEvery is the interval of the ledger's health check.
	healthCheckEvery = 2 * time.Second
	// healthCheckTimeout is the time that a health check may take.
	healthCheckTimeout = 5 * time.Second
)

// healthCheck monitors whether the ledger answers. While it does not, the
// routines wait, and one line of the log reports it.
type healthCheck struct {
	check func(context.Context) error
	log   *slog.Logger

	mu   sync.Mutex
	down lethe.Time // since when it has not answered; 0: it answers
}

// run checks until ctx ends.
func (p *healthCheck) run(ctx context.Context) {
	tick := time.NewTicker(healthCheckEvery)
	defer tick.Stop()
	for {
		p.once(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// once does one health check.
func (p *healthCheck) once(ctx context.Context) {
	clock := lethe.Monotonic{}
	start := clock.Now()
	asked, cancel := context.WithTimeout(ctx, healthCheckTimeout)
	defer cancel()
	err := p.check(asked)
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
}

// answers reports the result of the last check.
func (p *healthCheck) answers() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.down == 0
}
