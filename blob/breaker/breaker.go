// Package breaker is a blob.Store before another one that spares a backend that
// does not work, and those who wait for it: after some outages in a row, or when
// most calls fail, it opens, and every call answers at once blob.ErrDown and
// blob.ErrNotDone. So reads fail over, writes go elsewhere, and what waits for
// the backend burns no attempts (docs/protocol.md, rule 14). After a pause one cheap question
// is let through; its answer closes the breaker or doubles the pause.
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

// Options of a breaker. The zero value takes the defaults.
type Options struct {
	// Failures is how many outages in a row open it (default 5).
	Failures int
	// Rate is the share of failed calls within Window, of at least Least calls, that
	// opens it (default 0.5 of at least 20 within 30 s).
	Rate   float64
	Least  int
	Window time.Duration
	// Pause is how long it stays open at first; it doubles with each question that
	// fails, up to MaxPause (default 1 s and 1 min).
	Pause, MaxPause time.Duration
	// FullFor is how long a backend that said it was full takes no writes
	// (default 30 s).
	FullFor time.Duration
	// Ask bounds the question that closes it (default 10 s).
	Ask time.Duration
	// Clock measures the pauses (default lethe.Monotonic).
	Clock lethe.Clock
	// Changed is told of each opening and closing, after it. It returns fast.
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

// State is what a breaker shows of itself. Times are of Options.Clock.
type State struct {
	Open     bool
	Since    lethe.Time // of the last opening or closing; 0: never
	Until    lethe.Time // open: no call before it
	Outages  int        // in a row
	Openings int64      // in all
	LastErr  string     // of the last outage
}

// breaker is what is known of a backend's health; it makes no calls.
type breaker struct {
	o Options

	mu       sync.Mutex
	state    State
	pause    time.Duration
	asking   bool
	good     int // calls that ended well since it closed
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
	ask          // first ask whether the backend works again
	refuse
)

// enter says what a call may do, and why it is refused.
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
	return fmt.Errorf("%w: %w: not asked for another %s after %d outages, the last: %s",
		blob.ErrNotDone, blob.ErrDown, wait, b.state.Outages, b.state.LastErr)
}

// result is how a call ended, for the backend's health.
type result int

const (
	neutral result = iota // says nothing of the backend: the caller left, its body broke off
	well
	failure // counts towards the rate
	outage  // counts towards the rate, and in a row
)

// tell records how a call ended.
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

// asked records the answer to the question whether the backend works again.
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

// full notes that the backend said it was full.
func (b *breaker) full() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fullTill = b.o.Clock.Now().Add(b.o.FullFor)
}

// errFull: the backend said so a moment ago.
var errFull = errors.New("its disk is full")

// writable returns why the backend should be given no writes now; nil if it may.
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
