package s3blob

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/test/clocktest"
)

func limits(p *pace) [2]int {
	batch, limit := p.limits()
	return [2]int{batch, limit}
}

var (
	throttled = verdict{status: 503, slow: true, err: errors.New("slow down")}
	tooSlow   = verdict{slow: true, err: errSlow}
)

// enter takes n slots at once.
func enter(t *testing.T, p *pace, n int) []slot {
	t.Helper()
	got := make([]slot, n)
	for i := range got {
		var err error
		if got[i], err = p.enter(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	return got
}

func TestPaceShrinksAndGrows(t *testing.T) {
	clock := clocktest.At(1)
	p := newPace(paceOptions{Batch: 1000, Concurrency: 8, Clock: clock})
	for i, step := range []struct {
		v     verdict
		times int
		want  [2]int
	}{
		{throttled, 1, [2]int{1000, 4}}, {throttled, 2, [2]int{1000, 1}}, {throttled, 2, [2]int{250, 1}},
		{tooSlow, 1, [2]int{125, 1}}, {tooSlow, 20, [2]int{1, 1}},
	} {
		for range step.times {
			enter(t, p, 1)[0].leave(step.v)
			clock.Advance(longestPause)
		}
		if got := limits(p); got != step.want {
			t.Errorf("step %d: %v; want %v", i, got, step.want)
		}
	}
	steps := 0
	for ; limits(p) != [2]int{1000, 8}; steps++ {
		if steps > 1000 {
			t.Fatalf("it does not grow: %v", limits(p))
		}
		enter(t, p, 1)[0].leave(verdict{})
	}
	if steps < 20 {
		t.Errorf("it grew in %d steps", steps)
	}
	// Failures that are not slowness change nothing.
	enter(t, p, 1)[0].leave(verdict{status: 403, err: errors.New("denied")})
	if got := limits(p); got != [2]int{1000, 8} {
		t.Errorf("%v", got)
	}
}

func TestPacePauses(t *testing.T) {
	clock := clocktest.At(1)
	told := 0
	p := newPace(paceOptions{Batch: 1000, Concurrency: 8, Clock: clock, Changed: func(int, int) { told++ }})
	// One burst of refusals decreases the limits once, and pauses once.
	for _, s := range enter(t, p, 8) {
		s.leave(throttled)
	}
	if got := limits(p); got != [2]int{1000, 4} || told != 1 {
		t.Errorf("after a burst: %v, told %d times", got, told)
	}
	if _, err := p.enter(t.Context(), 0); !errors.Is(err, blob.ErrDown) {
		t.Errorf("it does not pause: %v", err)
	}
	clock.Advance(firstPause)
	if wait := enter(t, p, 1)[0].leave(throttled); wait != 2*firstPause {
		t.Errorf("the second pause is %s", wait)
	}
	clock.Advance(longestPause)
	asked := throttled
	asked.wait = time.Minute
	if wait := enter(t, p, 1)[0].leave(asked); wait != time.Minute {
		t.Errorf("the service asked for a minute, and got %s", wait)
	}
	clock.Advance(59 * time.Second)
	if _, err := p.enter(t.Context(), 0); !errors.Is(err, blob.ErrDown) {
		t.Errorf("it does not wait the minute: %v", err)
	}
	clock.Advance(time.Second)
	enter(t, p, 1)[0].leave(verdict{})
}

func TestPaceHoldsTheLimit(t *testing.T) {
	p := newPace(paceOptions{Batch: 10, Concurrency: 3, Clock: clocktest.At(1)})
	var mu sync.Mutex
	var wg sync.WaitGroup
	running, most := 0, 0
	for range 50 {
		wg.Go(func() {
			s, err := p.enter(t.Context(), time.Minute)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			mu.Lock()
			running--
			mu.Unlock()
			s.leave(verdict{})
		})
	}
	wg.Wait()
	if most > 3 || p.running != 0 {
		t.Errorf("%d at once, %d left", most, p.running)
	}
	for range 3 {
		if _, err := p.enter(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.enter(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
