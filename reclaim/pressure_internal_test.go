package reclaim

import (
	"context"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/clocktest"
)

// busyGovernor is one whose clients wait: it goes at the slowest pace.
func busyGovernor(t *testing.T, clock *clocktest.Clock) *Governor {
	t.Helper()
	of := clients{&Governor{Clock: clock}, clock, 100, 0}
	of.ask(5*time.Second, 10*ms, 0)
	of.beside(t, 5*time.Second, 40*ms, 0)
	if p := of.g.Pressure(); p != (Pressure{int(slowestPace), "clients", Reads}) {
		t.Fatalf("while clients wait: %+v", p)
	}
	return of.g
}

// TestGovernorForgetsClientsWhoLeft: what a window has seen of clients who are not
// there any more does not slow anything down, however many they were.
func TestGovernorForgetsClientsWhoLeft(t *testing.T) {
	clock := clocktest.At(1)
	g := busyGovernor(t, clock)
	for range windowRequests - 50 { // too few to close the window
		g.Observe(Reads, 40*ms)
	}
	clock.Advance(clientsGone)
	if got := g.Size(1000); got != 1000 {
		t.Errorf("%v after the last client left batches are of %d, want 1000", clientsGone, got)
	}
	if p := g.Pressure(); p != (Pressure{}) {
		t.Errorf("asked for by %+v", p)
	}
}

// TestSlowestPaceOfAll: the slowest pace that anything asks for is taken, and not
// the sum, so that reclaiming keeps its share.
func TestSlowestPaceOfAll(t *testing.T) {
	clock := clocktest.At(1)
	var told []Pressure
	g := &Governor{Clock: clock, Database: &Strain{Clock: clock, pace: 2}, Changed: func(p Pressure) { told = append(told, p) }}
	if p := g.Pressure(); p != (Pressure{2, "database", ""}) {
		t.Errorf("%+v", p)
	}
	g.Heed([]Shared{{Pace: 1}, {Pace: 99}})
	if p := g.Pressure(); p != (Pressure{int(slowestPace), "clients elsewhere", ""}) {
		t.Errorf("%+v", p)
	}
	if got := g.Size(1000); got != 1000>>slowestPace {
		t.Errorf("batches of %d", got)
	}
	g.Heed(nil)
	if p := g.Pressure(); p != (Pressure{2, "database", ""}) {
		t.Errorf("%+v", p)
	}
	if len(told) != 3 {
		t.Errorf("told %+v", told)
	}
}

// TestInstancesShareWhatClientsFeel: one that only serves learns that another
// reclaims, and asks it to go slower while its clients wait.
func TestInstancesShareWhatClientsFeel(t *testing.T) {
	clock := clocktest.At(1)
	serves, reclaims := &Governor{Clock: clock}, &Governor{Clock: clock}
	tell := func() {
		a, b := serves.Share(), reclaims.Share()
		serves.Heed([]Shared{b})
		reclaims.Heed([]Shared{a})
	}
	of := clients{serves, clock, 0, 100}
	of.ask(5*time.Second, 0, 10*ms)
	works := func(_ context.Context, c *Counts) (bool, error) {
		c.Add(Items, 1)
		return false, nil
	}
	for range 3 {
		if _, err := reclaims.run(t.Context(), works, &Counts{}); err != nil {
			t.Fatal(err)
		}
		tell()
		of.ask(time.Second, 0, 40*ms)
	}
	tell()
	if p := reclaims.Pressure(); p.By != "clients elsewhere" || p.Pace < 2 {
		t.Errorf("the one that reclaims: %+v", p)
	}
	if s := reclaims.Share(); s.Pace != 0 {
		t.Errorf("it passes on what it was told: %+v", s)
	}
	clock.Advance(clientsGone)
	tell()
	if p := reclaims.Pressure(); p != (Pressure{}) {
		t.Errorf("after the clients left: %+v", p)
	}
}

// TestStrain: what takes several times as long as it did makes it slower, what takes
// as long faster, what is of another size is not compared, and silence forgets.
func TestStrain(t *testing.T) {
	clock := clocktest.At(1)
	s := &Strain{Clock: clock}
	windows := func(n int, took time.Duration) {
		for range 10 * enoughStrain {
			s.Observe("expire", n, took)
			clock.Advance(strainWindow / enoughStrain)
		}
	}
	for i, c := range []struct {
		n    int
		took time.Duration
		want pace
	}{
		{1000, 50 * ms, 0}, {1000, 100 * ms, 0}, {1000, 200 * ms, slowestPace}, {1000, 100 * ms, 0},
		{60, 400 * ms, 0}, // of another size: compared with itself
		{1000, 200 * ms, slowestPace}, {1000, 900 * ms, slowestPace},
	} {
		if windows(c.n, c.took); s.pace != c.want {
			t.Errorf("windows %d, %v for %d: pace %d, want %d", i, c.took, c.n, s.pace, c.want)
		}
	}
	s.now() // what was left of a window
	clock.Advance(calm)
	if got := s.now(); got != 0 {
		t.Errorf("pace %d although nothing was seen for %v", got, calm)
	}
	quick := &Strain{Clock: clock, usual: map[work]time.Duration{{"x", 1}: ms / 10}}
	for range 20 {
		quick.Observe("x", 1, ms)
		clock.Advance(strainWindow / 4)
	}
	if got := quick.now(); got != 0 {
		t.Errorf("pace %d for what takes a millisecond", got)
	}
}

// TestStrainGetsUsed: what has become slower for good is usual one day.
func TestStrainGetsUsed(t *testing.T) {
	clock := clocktest.At(1)
	s := &Strain{Clock: clock}
	windows := 0
	for took := 10 * ms; windows < 10*strainMemory; windows++ {
		for range enoughStrain {
			s.Observe("settle", 1000, took)
			clock.Advance(strainWindow / enoughStrain)
		}
		if s.now(); windows == 3 {
			took = 100 * ms
		}
		if windows == 10 && s.pace != slowestPace {
			t.Fatalf("pace %d while it takes ten times as long", s.pace)
		}
		if windows > 10 && s.pace == 0 {
			break
		}
	}
	if windows < strainMemory/4 || windows >= 10*strainMemory {
		t.Errorf("it took %d windows to get used to it", windows)
	}
}

// TestLimits: what may go in a time is what is allowed, whatever the batches.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name      string
		all, own  Limit
		instances int
		batch     int
		want      int // deleted in 100 s
	}{
		{"deletes of a backend", Limit{}, Limit{Deletes: 50}, 1, 100, 5000},
		{"deletes of all", Limit{Deletes: 20}, Limit{Deletes: 50}, 1, 100, 2000},
		{"shared by four instances", Limit{Deletes: 200}, Limit{}, 4, 100, 5000},
		{"calls", Limit{}, Limit{Calls: 2}, 1, 100, 20_000},
		{"less than one a second", Limit{}, Limit{Deletes: 0.1}, 1, 1, 10},
	} {
		clock := clocktest.At(1)
		l := &Limits{Clock: clock, Sleep: func(_ context.Context, d time.Duration) error {
			clock.Advance(d)
			return nil
		}}
		l.Set(c.all, map[string]Limit{"main": c.own})
		l.Share(c.instances)
		gone := 0
		for end := clock.Now().Add(100 * time.Second); clock.Now() < end; {
			ended, err := l.Begin(t.Context(), "main")
			if err != nil {
				t.Fatal(err)
			}
			clock.Advance(ms)
			n := l.Size("main", c.batch)
			ended(n)
			gone += n
		}
		if low, high := c.want*9/10, c.want*11/10+2*c.batch; gone < low || gone > high {
			t.Errorf("%s: %d went, want %d", c.name, gone, c.want)
		}
	}
}

// TestLimitsOfCallsAtOnce: a call waits for one that ends, a claim that found
// nothing takes nothing away, and limits change while somebody waits.
func TestLimitsOfCallsAtOnce(t *testing.T) {
	clock := clocktest.At(1)
	l := &Limits{Clock: clock}
	l.Set(Limit{}, map[string]Limit{"main": {InFlight: 3, Calls: 1}})
	l.Share(2)
	first, err := l.Begin(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	if l.enter("main") == 0 {
		t.Error("two calls at once, where half of three are allowed")
	}
	first(0)
	if l.enter("main") != 0 {
		t.Error("no call after one that was none")
	}
	l.leave("main", 10)
	if !l.Owed("main") || l.Owed("other") {
		t.Error("a second call within the second is not owed")
	}
	waited := 0
	l.Sleep = func(context.Context, time.Duration) error {
		waited++
		l.Set(Limit{}, map[string]Limit{})
		return nil
	}
	if _, err := l.Begin(t.Context(), "main"); err != nil || waited != 1 {
		t.Errorf("after the limit was taken away: %v, waited %d times", err, waited)
	}
	l.Sleep = func(context.Context, time.Duration) error { return context.Canceled }
	l.Set(Limit{Calls: 0.001}, nil)
	l.enter("main")
	if _, err := l.Begin(t.Context(), "main"); err == nil {
		t.Error("a call although it was to stop")
	}
	var none *Limits
	ended, err := none.Begin(t.Context(), "main")
	if ended(5); err != nil || none.Size("main", 7) != 7 || none.Owed("main") {
		t.Error("no limits limit something")
	}
}

var _ lethe.Clock = (*clocktest.Clock)(nil)

// TestStepsRest: at the slowest pace a step that found more rests for as long as it
// worked, whether it counts items or, like that of a walk, does not.
func TestStepsRest(t *testing.T) {
	clock := clocktest.At(1)
	g := busyGovernor(t, clock)
	const worked = 20 * time.Millisecond
	for _, items := range []int64{0, 5} {
		step := func(_ context.Context, c *Counts) (bool, error) {
			clock.Advance(worked)
			c.Add(Items, items)
			return true, nil
		}
		began := lethe.Monotonic{}.Now()
		if _, err := g.run(t.Context(), step, &Counts{}); err != nil {
			t.Fatal(err)
		}
		if took := (lethe.Monotonic{}).Now().Sub(began); took < worked {
			t.Errorf("a step of %d items took %v, with its rest", items, took)
		}
	}
}
