package throttle

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/test/clocktest"
)

// reclaiming are so many other instances that reclaim.
func reclaiming(n int) []Peer { return slices.Repeat([]Peer{{Reclaims: true}}, n) }

// TestRates: what may go in a time is what is allowed, whatever the batches.
func TestRates(t *testing.T) {
	for _, c := range []struct {
		name      string
		all, own  Rate
		instances int
		batch     int
		want      int // deleted in 100 s
	}{
		{"deletes of a backend", Rate{}, Rate{Deletes: 50}, 1, 100, 5000},
		{"deletes of all", Rate{Deletes: 20}, Rate{Deletes: 50}, 1, 100, 2000},
		{"shared by four instances", Rate{Deletes: 200}, Rate{}, 4, 100, 5000},
		{"calls", Rate{}, Rate{Calls: 2}, 1, 100, 20_000},
		{"less than one a second", Rate{}, Rate{Deletes: 0.1}, 1, 1, 10},
	} {
		clock := clocktest.At(1)
		l := controller(clock)
		l.SetRates(c.all, map[string]Rate{"main": c.own})
		l.SetPeers(reclaiming(c.instances - 1))
		gone := 0
		for end := clock.Now().Add(100 * time.Second); clock.Now() < end; {
			end, err := l.Call(t.Context(), "main")
			if err != nil {
				t.Fatal(err)
			}
			clock.Advance(ms)
			n, _ := l.Deletes("main", c.batch)
			end(n)
			gone += n
		}
		if low, high := c.want*9/10, c.want*11/10+2*c.batch; gone < low || gone > high {
			t.Errorf("%s: %d went, want %d", c.name, gone, c.want)
		}
	}
}

// TestCallsInFlight: a call waits for one that ends, and rates change
// during a wait.
func TestCallsInFlight(t *testing.T) {
	clock := clocktest.At(1)
	l := &Controller{Clock: clock}
	l.SetRates(Rate{}, map[string]Rate{"main": {InFlight: 3, Calls: 4}})
	l.SetPeers(reclaiming(1))
	first, err := l.Call(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	if l.begin("main") == 0 {
		t.Error("two calls at once, where half of three are allowed")
	}
	first(10)
	if l.begin("main") != 0 {
		t.Error("no second call within a second, where two are allowed")
	}
	l.end("main", 10)
	if !l.Limited("main") || l.Limited("other") {
		t.Error("a third call within the second does not wait")
	}
	waited := 0
	l.Sleep = func(context.Context, time.Duration) error {
		waited++
		l.SetRates(Rate{}, map[string]Rate{})
		return nil
	}
	if _, err := l.Call(t.Context(), "main"); err != nil || waited != 1 {
		t.Errorf("after the rate was taken away: %v, waited %d times", err, waited)
	}
	l.Sleep = func(context.Context, time.Duration) error { return context.Canceled }
	l.SetRates(Rate{Calls: 0.001}, nil)
	l.begin("main")
	if _, err := l.Call(t.Context(), "main"); err == nil {
		t.Error("a call although it was to stop")
	}
	var none *Controller
	end, err := none.Call(t.Context(), "main")
	end(5)
	if n, parallel := none.Deletes("main", 7); err != nil || n != 7 || parallel != 1 {
		t.Error("a nil Controller limits something")
	}
}

// TestPerSecond: what is more than a burst waits, and counts in full.
func TestPerSecond(t *testing.T) {
	if PerSecond[int](0, 10) != nil {
		t.Error("0 is a limit")
	}
	ctx, cancel := context.WithCancel(t.Context())
	wait := PerSecond[int](10, 10)
	if err := wait(ctx, 10); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := wait(ctx, 1); err == nil {
		t.Error("more than a burst did not wait")
	}
}
