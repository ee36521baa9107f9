package intercept

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// BreakerOptions configure a breaker. The zero value selects the defaults.
type BreakerOptions struct {
	// Failures is how many outages in a row open it (default 5).
	Failures int
	// Rate is the share of failed calls within Window, of at least Least calls, that
	// opens it (default 0.5 of at least 20 within 30 s).
	Rate   float64
	Least  int
	Window time.Duration
	// Pause is how long it stays open at first; it doubles with each failed probe,
	// up to MaxPause (default 1 s and 1 min).
	Pause, MaxPause time.Duration
	// FullFor is how long a backend that reported to be full gets no writes
	// (default 30 s).
	FullFor time.Duration
	// ProbeTimeout bounds the probe that closes it (default 10 s).
	ProbeTimeout time.Duration
	// Clock measures the pauses (default lethe.Monotonic).
	Clock lethe.Clock
	// Changed is called after each opening and closing. It returns fast.
	Changed func(BreakerState)
}

func (o BreakerOptions) withDefaults() BreakerOptions {
	o.Failures = cmp.Or(o.Failures, 5)
	o.Rate = cmp.Or(o.Rate, 0.5)
	o.Least = cmp.Or(o.Least, 20)
	o.Window = cmp.Or(o.Window, 30*time.Second)
	o.Pause = cmp.Or(o.Pause, time.Second)
	o.MaxPause = cmp.Or(o.MaxPause, time.Minute)
	o.FullFor = cmp.Or(o.FullFor, 30*time.Second)
	o.ProbeTimeout = cmp.Or(o.ProbeTimeout, 10*time.Second)
	if o.Clock == nil {
		o.Clock = lethe.Monotonic{}
	}
	return o
}

// BreakerState is the state of a breaker. Times are of BreakerOptions.Clock.
type BreakerState struct {
	Open     bool
	Since    lethe.Time // of the last opening or closing; 0: never
	Until    lethe.Time // open: no call before it
	Outages  int        // in a row
	Openings int64      // in all
	LastErr  string     // of the last outage
}

// window counts calls since an instant.
type window struct {
	began         lethe.Time
	calls, failed int
}

// Breaker is a hook that spares a failing backend and its callers, closed at first.
// After some outages in a row, or when most calls fail, it opens: every call
// returns blob.ErrDown and blob.ErrNotDone at once. Then reads fail over, writes go
// to other backends, and deletes wait without using up attempts (docs/protocol.md,
// rule 14). After a pause one cheap probe is let through; its result closes the
// breaker or doubles the pause.
type Breaker struct {
	o BreakerOptions

	mu          sync.Mutex
	state       BreakerState
	pause       time.Duration
	probing     bool
	good        int   // successful calls since it closed
	refused     error // why the backend refused a write: blob.ErrFull or blob.ErrUnfit
	refusedTill lethe.Time
	unfit       string // why it refused the latest write by blob.ErrUnfit; empty once one succeeded
	window      window
}

var (
	_ BodyHook    = (*Breaker)(nil)
	_ blob.Downer = (*Breaker)(nil)
)

// NewBreaker returns a breaker for one backend.
func NewBreaker(o BreakerOptions) *Breaker { return &Breaker{o: o.withDefaults()} }

// State returns the state of the breaker, for status and metrics.
func (b *Breaker) State() BreakerState {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state
}

// Down implements blob.Downer.
func (b *Breaker) Down() string {
	if s := b.State(); s.Open {
		return "it did not work: " + s.LastErr
	}
	return ""
}

// Around implements Hook.
func (b *Breaker) Around(c *Call) error {
	probe, err := b.enter()
	if probe {
		err = b.probe(c)
	}
	if err != nil {
		return err
	}
	err = c.Next()
	if !c.CallerFailed {
		b.ended(c.Ctx, evidence(c, err))
	}
	switch {
	case c.Op != Put:
	case err == nil:
		b.setUnfit("")
	case errors.Is(err, blob.ErrUnfit):
		b.refuse(fmt.Errorf("%w: %w", blob.ErrUnfit, hidden{err}))
		b.setUnfit(reason(err))
	}
	return err
}

func (b *Breaker) setUnfit(why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unfit = why
}

// Unfit returns why the backend refuses writes although it works (blob.ErrUnfit), until one
// succeeds; empty if it does not. It may be tried earlier: see Writable.
func (b *Breaker) Unfit() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.unfit
}

// ReadFailed implements BodyHook.
func (b *Breaker) ReadFailed(c *Call, err error) { b.ended(c.Ctx, err) }

// absent is a key under which no store ever has bytes.
const absent = "breaker/question"

// probe makes the probe before a call. The context of the call does not end it.
func (b *Breaker) probe(c *Call) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Ctx), b.o.ProbeTimeout)
	defer cancel()
	_, err := c.Behind().Stat(ctx, absent)
	if errors.Is(err, blob.ErrNotExist) {
		err = nil
	}
	b.probed(err)
	if err != nil {
		return fmt.Errorf("%w: %w: the probe failed: %w", blob.ErrNotDone, blob.ErrDown, hidden{err})
	}
	return nil
}

// enter begins a call, refuses it, or demands a probe before it.
func (b *Breaker) enter() (probe bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch now := b.o.Clock.Now(); {
	case !b.state.Open:
		return false, nil
	case now < b.state.Until || b.probing:
		return false, b.refusal(now)
	}
	b.probing = true
	return true, nil
}

func (b *Breaker) refusal(now lethe.Time) error {
	wait := max(b.state.Until.Sub(now), 0).Round(100 * time.Millisecond)
	return fmt.Errorf("%w: %w: not called for another %s after %d outages, the last: %s",
		blob.ErrNotDone, blob.ErrDown, wait, b.state.Outages, b.state.LastErr)
}

// ended records how a call ended.
func (b *Breaker) ended(ctx context.Context, err error) {
	if r := judge(ctx, err); r != neutral {
		b.mu.Lock()
		changed := b.record(r, err)
		state := b.state
		b.mu.Unlock()
		if changed && b.o.Changed != nil {
			b.o.Changed(state)
		}
	}
	if errors.Is(err, blob.ErrFull) {
		b.refuse(fmt.Errorf("%w: %w", blob.ErrFull, errFull))
	}
}

func (b *Breaker) record(r result, err error) (changed bool) {
	now := b.o.Clock.Now()
	if now.Sub(b.window.began) >= b.o.Window {
		b.window = window{began: now}
	}
	b.window.calls++
	if r == well {
		b.state.Outages = 0
		if b.good++; b.good >= b.o.Failures {
			b.pause = 0
		}
		return false
	}
	b.window.failed++
	b.good = 0
	b.state.LastErr = reason(err)
	if r == outage {
		b.state.Outages++
	}
	bad := b.window.calls >= b.o.Least && float64(b.window.failed) >= b.o.Rate*float64(b.window.calls)
	if b.state.Open || b.state.Outages < b.o.Failures && !bad {
		return false
	}
	b.open(now)
	return true
}

// open opens it for the next pause.
func (b *Breaker) open(now lethe.Time) {
	b.pause = min(max(2*b.pause, b.o.Pause), b.o.MaxPause)
	b.state.Open, b.state.Since, b.state.Until = true, now, now.Add(b.pause)
	b.state.Openings++
}

// probed records the result of a probe.
func (b *Breaker) probed(err error) {
	b.mu.Lock()
	b.probing = false
	now := b.o.Clock.Now()
	if err == nil {
		b.state.Open, b.state.Since, b.state.Outages, b.good = false, now, 0, 0
		b.window = window{began: now}
	} else {
		since := b.state.Since
		b.state.LastErr = err.Error()
		b.open(now)
		b.state.Since = since
		b.state.Openings--
	}
	state := b.state
	b.mu.Unlock()
	if err == nil && b.o.Changed != nil {
		b.o.Changed(state)
	}
}

// refuse records why the backend refused a write, as it would the next one.
func (b *Breaker) refuse(why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refused, b.refusedTill = why, b.o.Clock.Now().Add(b.o.FullFor)
}

// errFull: the backend reported so a moment ago.
var errFull = errors.New("its disk is full")

// Writable returns why the backend should get no writes now: blob.ErrDown while the
// breaker is open and pauses, blob.ErrFull or blob.ErrUnfit a while after the backend
// reported that.
// Once the pause is over it may be tried.
func (b *Breaker) Writable() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.o.Clock.Now()
	switch {
	case b.state.Open && (now < b.state.Until || b.probing):
		return b.refusal(now)
	case now < b.refusedTill:
		return b.refused
	}
	return nil
}
