// Package breaker is a circuit breaker: a blob.Store around another one that spares
// a failing backend and its callers. After some outages in a row, or when most
// calls fail, it opens: every call returns blob.ErrDown and blob.ErrNotDone at
// once. Then reads fail over, writes go to other backends, and deletes wait without
// using up attempts (docs/protocol.md, rule 14). After a pause one cheap probe is
// let through; its result closes the breaker or doubles the pause.
//
// breaker.go decides, store.go acts.
package breaker

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// Options of a breaker. The zero value selects the defaults.
type Options struct {
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
	// Ask bounds the probe that closes it (default 10 s).
	Ask time.Duration
	// Clock measures the pauses (default lethe.Monotonic).
	Clock lethe.Clock
	// Changed is called after each opening and closing. It returns fast.
	Changed func(State)
}

func (o Options) withDefaults() Options {
	o.Failures = cmp.Or(o.Failures, 5)
	o.Rate = cmp.Or(o.Rate, 0.5)
	o.Least = cmp.Or(o.Least, 20)
	o.Window = cmp.Or(o.Window, 30*time.Second)
	o.Pause = cmp.Or(o.Pause, time.Second)
	o.MaxPause = cmp.Or(o.MaxPause, time.Minute)
	o.FullFor = cmp.Or(o.FullFor, 30*time.Second)
	o.Ask = cmp.Or(o.Ask, 10*time.Second)
	if o.Clock == nil {
		o.Clock = lethe.Monotonic{}
	}
	return o
}

// State is the state of a breaker. Times are of Options.Clock.
type State struct {
	Open     bool
	Since    lethe.Time // of the last opening or closing; 0: never
	Until    lethe.Time // open: no call before it
	Outages  int        // in a row
	Openings int64      // in all
	LastErr  string     // of the last outage
}

// breaker tracks a backend's health; it makes no calls.
type breaker struct {
	o Options

	mu       sync.Mutex
	state    State
	pause    time.Duration
	asking   bool
	good     int // successful calls since it closed
	fullTill lethe.Time
	window   window
}

// window counts calls since an instant.
type window struct {
	began         lethe.Time
	calls, failed int
}

// verdict is what a call may do.
type verdict int

const (
	pass verdict = iota
	ask          // probe the backend first
	refuse
)

// enter decides what a call may do, and why it is refused.
func (b *breaker) enter() (verdict, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch now := b.o.Clock.Now(); {
	case !b.state.Open:
		return pass, nil
	case now < b.state.Until || b.asking:
		return refuse, b.refusal(now)
	}
	b.asking = true
	return ask, nil
}

func (b *breaker) refusal(now lethe.Time) error {
	wait := max(b.state.Until.Sub(now), 0).Round(100 * time.Millisecond)
	return fmt.Errorf("%w: %w: not called for another %s after %d outages, the last: %s",
		blob.ErrNotDone, blob.ErrDown, wait, b.state.Outages, b.state.LastErr)
}

// result is how a call ended, as to the backend's health.
type result int

const (
	neutral result = iota // no evidence: the caller left, or its body ended early
	well
	failure // counts towards the rate
	outage  // counts towards the rate, and in a row
)

// tell records the result of a call.
func (b *breaker) tell(r result, err error) {
	if r == neutral {
		return
	}
	b.mu.Lock()
	changed := b.record(r, err)
	state := b.state
	b.mu.Unlock()
	if changed && b.o.Changed != nil {
		b.o.Changed(state)
	}
}

func (b *breaker) record(r result, err error) (changed bool) {
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
	b.state.LastErr = err.Error()
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
func (b *breaker) open(now lethe.Time) {
	b.pause = min(max(2*b.pause, b.o.Pause), b.o.MaxPause)
	b.state.Open, b.state.Since, b.state.Until = true, now, now.Add(b.pause)
	b.state.Openings++
}

// asked records the result of a probe.
func (b *breaker) asked(err error) {
	b.mu.Lock()
	b.asking = false
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

// full records that the backend reported to be full.
func (b *breaker) full() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fullTill = b.o.Clock.Now().Add(b.o.FullFor)
}

// errFull: the backend reported so a moment ago.
var errFull = errors.New("its disk is full")

// writable returns why the backend should get no writes now; nil if it may.
func (b *breaker) writable() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.o.Clock.Now()
	switch {
	case b.state.Open && (now < b.state.Until || b.asking):
		return b.refusal(now)
	case now < b.fullTill:
		return fmt.Errorf("%w: %w", blob.ErrFull, errFull)
	}
	return nil
}
