package lethe_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
)

func TestTimeSaturates(t *testing.T) {
	now := lethe.FromTime(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	for _, c := range []struct {
		t, u lethe.Time
		want time.Duration
	}{
		{now.Add(time.Hour), now, time.Hour},
		{now, now.Add(time.Hour), -time.Hour},
		{lethe.Forever, now, math.MaxInt64},
		{now, lethe.Forever, math.MinInt64},
		{lethe.Forever, -lethe.Forever, math.MaxInt64},
		{-lethe.Forever, lethe.Forever, math.MinInt64},
	} {
		if got := c.t.Sub(c.u); got != c.want {
			t.Errorf("%d - %d = %v, want %v", c.t, c.u, got, c.want)
		}
	}
	if got := lethe.Forever.Add(time.Hour); got != lethe.Forever {
		t.Errorf("for ever and an hour is %d", got)
	}
	if got := now.Add(math.MaxInt64); got < now {
		t.Errorf("the longest duration leads back to %v", got)
	}
}

func TestBackoff(t *testing.T) {
	for doubled, want := range map[int]time.Duration{-1: 30 * time.Second, 0: 30 * time.Second, 1: time.Minute, 6: 32 * time.Minute, 7: time.Hour, 1 << 40: time.Hour} {
		if got := lethe.Backoff(30*time.Second, time.Hour, doubled); got != want {
			t.Errorf("after %d failures: %s, want %s", doubled, got, want)
		}
	}
	if got := lethe.Backoff(time.Hour, time.Minute, 0); got != time.Minute {
		t.Errorf("the least wait is beyond the longest: %s", got)
	}
}

func TestSleep(t *testing.T) {
	if err := lethe.Sleep(t.Context(), time.Microsecond); err != nil {
		t.Errorf("it was woken: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, d := range []time.Duration{-1, 0, 24 * time.Hour} {
		if err := lethe.Sleep(ended, d); !errors.Is(err, context.Canceled) {
			t.Errorf("%s after the end: %v", d, err)
		}
	}
}
