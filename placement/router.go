package placement

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger"
)

// RouterOptions of a Router. Ledger and Order are needed.
type RouterOptions struct {
	Strategy Strategy // default Pack
	Order    []string // ids of all backends, in the order of configuration
	Ledger   UsageLedger
	// Health returns why a backend takes no writes now (intercept.Breaker.Writable), or
	// nil. Nil: every backend takes writes.
	Health func(backend string) error
	// Spacers report the room left on backends without a quota.
	Spacers map[string]blob.Spacer
	// Every is how often the figures are read (default 3 s).
	Every time.Duration
	// Failed is called when they could not be read.
	Failed func(error)
}

// Router chooses backends for writes, by figures of the ledger that are read every
// few seconds and corrected by the writes of this process. The ledger alone
// enforces quotas, exactly.
type Router struct {
	o RouterOptions

	mu      sync.Mutex
	figures []Usage
	since   map[string]int64 // bytes that this process reserved since they were read
}

// NewRouter returns a router to which all backends are empty until the first
// Refresh.
func NewRouter(o RouterOptions) *Router {
	o.Strategy = cmp.Or(o.Strategy, Pack)
	o.Every = cmp.Or(o.Every, 3*time.Second)
	r := &Router{o: o, since: map[string]int64{}}
	r.figures = usages(o.Order, nil, nil)
	for i := range r.figures {
		r.figures[i].Known = true
	}
	return r
}

// Run refreshes the figures until ctx ends.
func (r *Router) Run(ctx context.Context) {
	tick := time.NewTicker(r.o.Every)
	defer tick.Stop()
	for {
		if err := r.Refresh(ctx); err != nil && ctx.Err() == nil && r.o.Failed != nil {
			r.o.Failed(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Refresh reads the figures from the ledger. When that fails the old ones stay.
func (r *Router) Refresh(ctx context.Context) error {
	figures, err := readUsage(ctx, r.o.Ledger, r.o.Order)
	if err != nil {
		return err
	}
	for i := range figures {
		figures[i].ask(ctx, r.o.Spacers[figures[i].ID])
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.figures = figures
	clear(r.since)
	return nil
}

func readUsage(ctx context.Context, l UsageLedger, order []string) ([]Usage, error) {
	backends, err := l.Backends(ctx)
	if err != nil {
		return nil, fmt.Errorf("placement: read backends: %w", err)
	}
	totals, err := l.Totals(ctx)
	if err != nil {
		return nil, fmt.Errorf("placement: read totals: %w", err)
	}
	return usages(order, backends, totals), nil
}

// Wrote corrects the figures by an intent of this process: for
// object.Events.Begun.
func (r *Router) Wrote(b ledger.Blob, size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.since[b.Backend] += size
}

// Usage returns the figures of all backends in the order of configuration, with
// what this process wrote since they were read.
func (r *Router) Usage() []Usage {
	r.mu.Lock()
	out := make([]Usage, len(r.figures))
	for i, u := range r.figures {
		u.Pending += r.since[u.ID]
		out[i] = u
	}
	r.mu.Unlock()
	markDown(out, r.o.Health)
	return out
}

// markDown records which backends take no writes now by health, which may be nil.
func markDown(figures []Usage, health func(backend string) error) {
	if health == nil {
		return
	}
	for i := range figures {
		if err := health(figures[i].ID); err != nil {
			figures[i].Down = unwell(err)
		}
	}
}

// unwell describes to clients why a backend takes no writes.
func unwell(err error) string {
	switch {
	case errors.Is(err, blob.ErrFull):
		return "has a full disk"
	case errors.Is(err, blob.ErrUnfit):
		return "takes no writes"
	case errors.Is(err, blob.ErrMisplaced):
		return "is not in its place"
	}
	return "is down at the moment"
}

// Pick returns the backends that may take size bytes (-1: unknown), best first, for
// object.Options.Pick. Draining backends, those with an open breaker, and full ones
// are left out. If only full ones remain they are returned, and the ledger decides.
func (r *Router) Pick(size int64) []string { return r.o.Strategy.choose(r.Usage(), size) }

// Refuse returns why no backend takes size bytes, for object.Options.Refuse, once
// none of the picked ones did.
func (r *Router) Refuse(size int64) error {
	e := &RefusalError{Size: size}
	for _, u := range r.Usage() {
		why := cmp.Or(u.takes(size), "had no room when it was tried")
		e.Backends = append(e.Backends, Refusal{Backend: u.ID, Why: why})
		e.down = e.down || u.Known && !u.Draining && u.Down != "" && !errors.Is(r.o.Health(u.ID), blob.ErrFull)
	}
	return e
}

// Refusal is why one backend takes no bytes.
type Refusal struct {
	Backend string
	Why     string
}

// RefusalError lists why no backend takes some bytes. It is lethe.ErrUnavailable if
// one of them is only down for now, else lethe.ErrNoRoom. Its text is fit for
// clients.
type RefusalError struct {
	Size     int64 // bytes; below 0: not known
	Backends []Refusal
	down     bool
}

// Error implements error.
func (e *RefusalError) Error() string {
	size := ""
	if e.Size >= 0 {
		size = " for " + words.Plural(e.Size, "byte", "bytes")
	}
	var why []string
	for _, b := range e.Backends {
		why = append(why, b.Backend+" "+b.Why)
	}
	what := "No backend has room"
	if e.down {
		what = "No backend takes a write now"
	}
	return fmt.Sprintf("%s%s: %s.", what, size, strings.Join(why, "; "))
}

// Unwrap returns the kind of the error.
func (e *RefusalError) Unwrap() error {
	if e.down {
		return lethe.ErrUnavailable
	}
	return lethe.ErrNoRoom
}
