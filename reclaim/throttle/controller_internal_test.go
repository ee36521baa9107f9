package throttle

import (
	"context"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/test/clocktest"
)

// controller is one for client latency and load, whose rests pass on the clock.
func controller(clock *clocktest.Clock) *Controller {
	return &Controller{Clock: clock, ClientLatency: 1.2, Load: 3, Sleep: func(_ context.Context, d time.Duration) error {
		clock.Advance(d)
		return nil
	}}
}

// slowest is one whose clients wait: it is at the slowest level.
func slowest(t *testing.T, clock *clocktest.Clock) *Controller {
	t.Helper()
	of := clients{controller(clock), clock, 100, 0}
	of.ask(5*time.Second, 10*ms, 0)
	of.beside(t, 5*time.Second, 40*ms, 0)
	if s := of.c.Slowed(); s != (Slowed{Slowest, "client latency", Reads}) {
		t.Fatalf("while clients wait: %+v", s)
	}
	return of.c
}

// works is a step that reclaimed something and left nothing.
func works() (did, more bool, err error) { return true, false, nil }

// worked has work of a kind on n rows take so long for several windows.
func worked(c *Controller, clock *clocktest.Clock, on string, n int, took time.Duration) {
	for range 10 * workSamples {
		end := c.Time(on, "delete")
		clock.Advance(took)
		end(n)
		clock.Advance(workHold/workSamples - took)
	}
}

// TestClientsWhoLeft: what a window has seen of clients that are gone does not slow
// anything down, however many they were.
func TestClientsWhoLeft(t *testing.T) {
	clock := clocktest.At(1)
	c := slowest(t, clock)
	for range windowRequests - 50 { // too few to close the window
		c.Request(Reads, 40*ms)
	}
	clock.Advance(clientsGone)
	if got := c.Size(1000); got != 1000 {
		t.Errorf("%v after the last client left batches are of %d, want 1000", clientsGone, got)
	}
	if s := c.Slowed(); s != (Slowed{}) {
		t.Errorf("slowed by %+v", s)
	}
}

// TestSlowestLevelCounts: the slowest level of all causes is taken, and not the
// sum, so that reclaiming keeps its share.
func TestSlowestLevelCounts(t *testing.T) {
	clock := clocktest.At(1)
	var told []Slowed
	c := controller(clock)
	c.Changed = func(s Slowed) { told = append(told, s) }
	c.loads = map[string]*load{Database: {backoff: backoff{level: 2}, last: clock.Now()}}
	if s := c.Slowed(); s != (Slowed{2, "database load", ""}) {
		t.Errorf("%+v", s)
	}
	c.SetPeers([]Peer{{Level: 1}, {Level: 99}})
	if s := c.Slowed(); s != (Slowed{Slowest, "client latency elsewhere", ""}) {
		t.Errorf("%+v", s)
	}
	if got := c.Size(1000); got != 1000>>Slowest {
		t.Errorf("batches of %d", got)
	}
	c.SetPeers(nil)
	if s := c.Slowed(); s != (Slowed{2, "database load", ""}) {
		t.Errorf("%+v", s)
	}
	if len(told) != 3 {
		t.Errorf("told %+v", told)
	}
}

// TestInstancesShareClientLatency: one that only serves learns that another reclaims,
// and asks it to go slower while its clients wait.
func TestInstancesShareClientLatency(t *testing.T) {
	clock := clocktest.At(1)
	serves, reclaims := controller(clock), controller(clock)
	tell := func() {
		a, b := serves.Self(), reclaims.Self()
		serves.SetPeers([]Peer{b})
		reclaims.SetPeers([]Peer{a})
	}
	of := clients{serves, clock, 0, 100}
	of.ask(5*time.Second, 0, 10*ms)
	for range 3 {
		if _, err := reclaims.Run(t.Context(), works); err != nil {
			t.Fatal(err)
		}
		tell()
		of.ask(time.Second, 0, 40*ms)
	}
	tell()
	if s := reclaims.Slowed(); s.By != "client latency elsewhere" || s.Level < 2 {
		t.Errorf("the one that reclaims: %+v", s)
	}
	if p := reclaims.Self(); p.Level != 0 {
		t.Errorf("it passes on what it was told: %+v", p)
	}
	disabled := &Controller{Clock: clock}
	if disabled.SetPeers([]Peer{{Level: Slowest}}); disabled.Slowed() != (Slowed{}) {
		t.Errorf("client latency is disabled: %+v", disabled.Slowed())
	}
	clock.Advance(clientsGone)
	tell()
	if s := reclaims.Slowed(); s != (Slowed{}) {
		t.Errorf("after the clients left: %+v", s)
	}
}

// TestLoad: what takes several times as long as usual raises the level, what takes as
// long lowers it, what is of another size is not compared, and silence forgets.
func TestLoad(t *testing.T) {
	clock := clocktest.At(1)
	c := controller(clock)
	for i, s := range []struct {
		n    int
		took time.Duration
		want Level
	}{
		{1000, 50 * ms, 0}, {1000, 100 * ms, 0}, {1000, 200 * ms, Slowest}, {1000, 100 * ms, 0},
		{60, 400 * ms, 0}, // of another size: compared with itself
		{1000, 200 * ms, Slowest}, {1000, 390 * ms, Slowest},
	} {
		if worked(c, clock, "main", s.n, s.took); c.LoadLevel("main") != s.want {
			t.Errorf("%d: %v for %d: level %d, want %d", i, s.took, s.n, c.LoadLevel("main"), s.want)
		}
	}
	if c.LoadLevel("other") != 0 || c.Slowed() != (Slowed{}) {
		t.Errorf("one backend slows others down: %+v", c.Slowed())
	}
	clock.Advance(workGone)
	if l := c.LoadLevel("main"); l != 0 {
		t.Errorf("level %d although nothing was asked for %v", l, workGone)
	}
	worked(c, clock, "instant", 1, 0)
	if worked(c, clock, "instant", 1, 30*ms); c.LoadLevel("instant") != Slowest {
		t.Errorf("level %d for what took no time and takes 30 ms", c.LoadLevel("instant"))
	}
	worked(c, clock, "quick", 1, ms/10)
	if worked(c, clock, "quick", 1, ms); c.LoadLevel("quick") != 0 {
		t.Errorf("level %d for what takes a millisecond", c.LoadLevel("quick"))
	}
}

// TestLoadThatStays: what has become slower for good is usual one day.
func TestLoadThatStays(t *testing.T) {
	clock := clocktest.At(1)
	c := controller(clock)
	worked(c, clock, Database, 1000, 10*ms)
	times := 0
	for ; times < workMemory; times++ {
		if worked(c, clock, Database, 1000, 100*ms); times == 0 && c.Slowed().Level != Slowest {
			t.Fatalf("%+v while it takes ten times as long", c.Slowed())
		}
		if c.Slowed().Level == 0 {
			break
		}
	}
	if times < workMemory/40 || times == workMemory {
		t.Errorf("it took %d times ten windows until it was usual", times)
	}
}

// TestDeletes: a backend takes batches in parallel at full speed only. One on which a
// call costs a request takes half a batch at least for clients' sake, but not for its
// own load.
func TestDeletes(t *testing.T) {
	clock := clocktest.At(1)
	c := controller(clock)
	c.Backends = map[string]Backend{"s3": {Parallel: 4, Requests: true}}
	check := func(what, backend string, size, parallel int) {
		t.Helper()
		if n, p := c.Deletes(backend, 1000); n != size || p != parallel {
			t.Errorf("%s: %s takes %d, %d in parallel; want %d, %d", what, backend, n, p, size, parallel)
		}
	}
	check("at full speed", "s3", 1000, 4)
	check("at full speed", "disk", 1000, 1)
	c.SetPeers([]Peer{{Level: Slowest}})
	check("while clients wait", "s3", 500, 1)
	check("while clients wait", "disk", 62, 1)
	c.SetPeers(nil)
	worked(c, clock, "s3", 1000, 10*ms)
	worked(c, clock, "s3", 1000, 100*ms)
	check("while one is loaded", "s3", 62, 1)
	check("while the other is loaded", "disk", 1000, 1)
}

// TestRests: at the slowest level a step that found more rests for as long as it
// worked, one that found nothing does not, and the rests for a backend's load and for
// clients do not add up.
func TestRests(t *testing.T) {
	clock := clocktest.At(1)
	c := controller(clock)
	work := func() { clock.Advance(20 * ms) }
	took := func(more bool) time.Duration {
		began := clock.Now()
		_, err := c.Run(t.Context(), func() (bool, bool, error) {
			return true, more, c.Batch(t.Context(), "main", func() error { work(); return nil })
		})
		if err != nil {
			t.Fatal(err)
		}
		return clock.Now().Sub(began)
	}
	for _, s := range []struct {
		clients, backend Level
		more             bool
		want             time.Duration
	}{
		{0, 0, true, 20 * ms}, {Slowest, 0, true, 40 * ms}, {Slowest, 0, false, 20 * ms},
		{0, Slowest, true, 40 * ms}, {Slowest, Slowest, true, 40 * ms}, {2, 1, true, 30 * ms},
	} {
		c.SetPeers([]Peer{{Level: s.clients}})
		c.loads = map[string]*load{"main": {backoff: backoff{level: s.backend}, last: clock.Now()}}
		if got := took(s.more); got != s.want {
			t.Errorf("%+v: took %v", s, got)
		}
	}
}
