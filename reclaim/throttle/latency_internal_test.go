package throttle

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/test/clocktest"
)

const ms = time.Millisecond

// series is the latency of requests by a clock, during reclaiming or not.
type series struct {
	latency
	now lethe.Time
}

// some are n requests, rate a second, of which one in each so many takes longest.
type some struct {
	n, rate, each int
	most, longest time.Duration
	busy          bool
}

func (f *series) requests(r some) {
	for i := range r.n {
		f.now = f.now.Add(time.Second / time.Duration(r.rate))
		took := r.most
		if i%r.each == r.each-1 {
			took = r.longest
		}
		f.note(f.now, took, r.busy, 1.2)
	}
}

func TestLevelFollowsClientLatency(t *testing.T) {
	const slowest = Slowest
	for _, c := range []struct {
		name  string
		from  Level
		usual time.Duration
		some
		want      Level
		wantUsual time.Duration
	}{
		{"nobody is there", slowest, 10 * ms, some{18, 3, 1, ms, 90 * ms, true}, 0, 10 * ms},
		{"somebody waits for one after the other", slowest, 10 * ms, some{18, 3, 1, ms, 330 * ms, true}, slowest, 10 * ms},
		{"and does so from the beginning", 0, 10 * ms, some{36, 3, 1, ms, 330 * ms, true}, slowest, 10 * ms},
		{"the usual latency is learnt", 0, 0, some{200, 100, 50, 5 * ms, 10 * ms, false}, 0, 10 * ms},
		{"the usual latency follows slowly", 0, 10 * ms, some{200, 100, 50, 5 * ms, 50 * ms, false}, 0, 20 * ms},
		{"two slow ones among many are chance", 0, 10 * ms, some{199, 100, 90, 5 * ms, 50 * ms, true}, 0, 10 * ms},
		{"one in twenty waits", 0, 10 * ms, some{60, 100, 20, 5 * ms, 15 * ms, true}, 1, 10 * ms},
		{"all wait, for a moment", 0, 10 * ms, some{30, 100, 1, 5 * ms, 15 * ms, true}, 1, 10 * ms},
		{"all wait, for some seconds", 0, 10 * ms, some{300, 100, 1, 5 * ms, 15 * ms, true}, slowest, 10 * ms},
		{"never slower than the slowest level", slowest, 10 * ms, some{400, 100, 1, 5 * ms, 900 * ms, true}, slowest, 10 * ms},
		{"within what they may wait", 2, 10 * ms, some{220, 100, 1, 5 * ms, 11 * ms, true}, 1, 10 * ms},
		{"a slow one in a hundred goes on as before", 2, 10 * ms, some{1000, 100, 100, 5 * ms, 50 * ms, true}, 2, 10 * ms},
		{"the slack of short requests", 2, ms, some{220, 100, 1, 0, 1500 * time.Microsecond, true}, 1, ms},
		{"few, and none of them waits", 2, 10 * ms, some{61, 6, 1, 0, 10 * ms, true}, 1, 10 * ms},
		{"faster than usual", 2, 10 * ms, some{200, 100, 1, 0, 5 * ms, true}, 1, 10*ms - 5*ms/8},
		{"not faster by more than the limit", 2, 10 * ms, some{200, 100, 1, 0, 9 * ms, true}, 1, 10 * ms},
		{"busy from the start: it goes slowly to learn", 0, 0, some{200, 100, 1, 0, 90 * ms, true}, slowest, 0},
		{"what they take then stands for the usual latency", slowest, 0, some{200, 100, 1, 0, 30 * ms, true}, slowest - 1, 30 * ms},
	} {
		f := &series{now: 1, latency: latency{backoff: backoff{level: c.from}, usual: c.usual}}
		f.requests(c.some)
		if f.level != c.want || f.usual != c.wantUsual {
			t.Errorf("%s: level %d, usual %v; want %d, %v", c.name, f.level, f.usual, c.want, c.wantUsual)
		}
	}
}

// TestLevelIsBounded: the slowest level keeps half of the time, and batches that are
// worth a transaction.
func TestLevelIsBounded(t *testing.T) {
	b := backoff{}
	for range 100 {
		b.set(1, b.level+1)
	}
	if size, rest := b.level.size(1000), b.level.rest(time.Second); size != 62 || rest != time.Second {
		t.Errorf("the slowest level: batches of %d, a rest of %v after a second", size, rest)
	}
	for range 100 {
		b.set(1, b.level-1)
	}
	if b.level != 0 || b.level.size(1000) != 1000 || b.level.rest(time.Hour) != 0 {
		t.Errorf("full speed: %d", b.level)
	}
	if tiny, none := Slowest.size(1), Slowest.size(0); tiny != 1 || none != 0 {
		t.Errorf("batches of 1 and without a limit: %d, %d", tiny, none)
	}
}

// clients make requests of a controller's store: for each kind so many a second, that
// take so long.
type clients struct {
	c             *Controller
	clock         *clocktest.Clock
	reads, writes int
}

func (of clients) ask(d, read, write time.Duration) {
	const tick = 10 * ms
	for at := range int(d / tick) {
		of.clock.Advance(tick)
		for _, k := range []struct {
			kind Kind
			rate int
			took time.Duration
		}{{Reads, of.reads, read}, {Writes, of.writes, write}} {
			if k.rate > 0 && (at+1)*k.rate/100 > at*k.rate/100 {
				of.c.Request(k.kind, k.took)
			}
		}
	}
}

// beside makes requests while a step of a routine is under way.
func (of clients) beside(t *testing.T, d, read, write time.Duration) {
	t.Helper()
	if _, err := of.c.Run(t.Context(), func() (bool, bool, error) {
		of.ask(d, read, write)
		return false, false, nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestKindsAreJudgedByThemselves: reads that take several times as long as at rest
// are heeded, although writes take longer than they do at any time, and the other way
// round; what the one kind is fine with does not hide what the other asks for.
func TestKindsAreJudgedByThemselves(t *testing.T) {
	for _, c := range []struct {
		name          string
		reads, writes int // a second
		read, write   time.Duration
		want          Slowed
	}{
		{"reads wait", 50, 50, 20 * ms, 100 * ms, Slowed{4, "client latency", Reads}},
		{"writes wait", 50, 50, 5 * ms, 300 * ms, Slowed{4, "client latency", Writes}},
		{"both wait", 50, 50, 20 * ms, 300 * ms, Slowed{4, "client latency", Reads}},
		{"none waits", 50, 50, 5 * ms, 100 * ms, Slowed{}},
		{"a few reads wait, beside many writes", 10, 100, 20 * ms, 100 * ms, Slowed{4, "client latency", Reads}},
		{"too few reads to tell", 2, 100, 900 * ms, 100 * ms, Slowed{}},
		{"too few reads to tell hide nothing", 2, 100, 5 * ms, 300 * ms, Slowed{4, "client latency", Writes}},
	} {
		clock := clocktest.At(1)
		of := clients{&Controller{Clock: clock, ClientLatency: 1.2}, clock, c.reads, c.writes}
		of.ask(10*time.Second, 5*ms, 100*ms)
		of.beside(t, 10*time.Second, c.read, c.write)
		if p := of.c.Slowed(); p != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, p, c.want)
		}
	}
}

// TestClientLatency: requests while a step is under way make it slower,
// requests at rest teach it, and time without requests gives full speed back.
func TestClientLatency(t *testing.T) {
	clock := clocktest.At(1)
	of := clients{&Controller{Clock: clock, ClientLatency: 1.2}, clock, 100, 0}
	of.ask(5*time.Second, 10*ms, 0)
	of.ask(300*ms, 40*ms, 0)
	if got := of.c.Size(1000); got != 1000 {
		t.Fatalf("batches of %d although nothing is reclaimed that clients could wait for", got)
	}
	of.beside(t, 200*ms, 40*ms, 0)
	if got := of.c.Size(1000); got != 62 {
		t.Fatalf("batches of %d while clients wait, want 62", got)
	}
	clock.Advance(clientsGone)
	if got := of.c.Size(1000); got != 1000 {
		t.Fatalf("batches of %d after nobody was there, want 1000", got)
	}
}

// TestReclaimingBeginsSlowly: beside clients reclaiming begins at the slowest level, and goes
// faster by a level a second. That is no backoff, unless requests turn out to be slow. Without
// clients it begins at full speed.
func TestReclaimingBeginsSlowly(t *testing.T) {
	clock := clocktest.At(1)
	of := clients{&Controller{Clock: clock, ClientLatency: 1.2}, clock, 100, 0}
	sizes := func(took time.Duration, reported Level) (sizes []int) {
		if _, err := of.c.Run(t.Context(), func() (bool, bool, error) {
			for range 5 {
				sizes = append(sizes, of.c.Size(1000))
				of.ask(time.Second, took, 0)
			}
			return false, false, nil
		}); err != nil {
			t.Fatal(err)
		}
		if s := of.c.Slowed(); s.Level != reported {
			t.Errorf("requests of %v: slowed by %+v, want level %d", took, s, reported)
		}
		return sizes
	}
	for _, c := range []struct {
		rest, took time.Duration
		reported   Level
		want       []int
	}{
		{0, 0, 0, []int{1000, 1000, 1000, 1000, 1000}}, // no clients
		{5 * time.Second, 10 * ms, 0, []int{62, 125, 250, 500, 1000}},
		{5 * time.Second, 10 * ms, 0, []int{62, 125, 250, 500, 1000}}, // begins anew
		{5 * time.Second, 40 * ms, Slowest, []int{62, 62, 62, 62, 62}},
	} {
		of.reads = 0
		if c.rest > 0 {
			of.reads = 100
		}
		of.ask(c.rest, 10*ms, 0)
		if got := sizes(c.took, c.reported); !slices.Equal(got, c.want) {
			t.Errorf("requests of %v: batches of %v, want %v", c.took, got, c.want)
		}
	}
}

// TestAStartEndsDespiteRests: steps that take long, as deletes on some services do, have long
// rests. What follows a rest is no start.
func TestAStartEndsDespiteRests(t *testing.T) {
	clock := clocktest.At(1)
	of := clients{&Controller{Clock: clock, ClientLatency: 1.2}, clock, 100, 0}
	of.c.Sleep = func(_ context.Context, d time.Duration) error {
		of.ask(d, 10*ms, 0)
		return nil
	}
	of.ask(5*time.Second, 10*ms, 0)
	got := 0
	for range 10 {
		if _, err := of.c.Run(t.Context(), func() (bool, bool, error) {
			got = of.c.Size(1000)
			of.ask(time.Second, 10*ms, 0)
			return true, true, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if got != 1000 {
		t.Errorf("batches of %d in the tenth step beside which no request was slow, want 1000", got)
	}
}

// TestSlowRequestsEndAStart: what is slow while a start is at a faster level makes a backoff of
// the level before it.
func TestSlowRequestsEndAStart(t *testing.T) {
	clock := clocktest.At(1)
	of := clients{&Controller{Clock: clock, ClientLatency: 1.2}, clock, 100, 0}
	of.ask(5*time.Second, 10*ms, 0)
	if _, err := of.c.Run(t.Context(), func() (bool, bool, error) {
		of.ask(2500*ms, 10*ms, 0)
		if got := of.c.Size(1000); got != 250 {
			t.Errorf("batches of %d after two and a half seconds, want 250", got)
		}
		of.ask(60*ms, 40*ms, 0)
		return false, false, nil
	}); err != nil {
		t.Fatal(err)
	}
	if s, size := of.c.Slowed(), of.c.Size(1000); s.Level != 3 || size != 125 {
		t.Errorf("slowed by %+v, batches of %d; want level 3, 125", s, size)
	}
}

// TestRequestsAfterAStepCount: requests between two steps still feel the one before.
func TestRequestsAfterAStepCount(t *testing.T) {
	clock := clocktest.At(1)
	of := clients{&Controller{Clock: clock, ClientLatency: 1.2}, clock, 100, 0}
	of.ask(5*time.Second, 10*ms, 0)
	for range 10 {
		if _, err := of.c.Run(t.Context(), func() (bool, bool, error) { return true, false, nil }); err != nil {
			t.Fatal(err)
		}
		of.ask(afterStep-10*ms, 40*ms, 0)
	}
	if p := of.c.Slowed(); p != (Slowed{Slowest, "client latency", Reads}) {
		t.Errorf("%+v", p)
	}
}

// TestFailedStepsEnd: a step that fails is not under way any more.
func TestFailedStepsEnd(t *testing.T) {
	c := &Controller{Clock: clocktest.At(1)}
	broken := errors.New("broken")
	if _, err := c.Run(t.Context(), func() (bool, bool, error) { return false, false, broken }); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if c.active != 0 {
		t.Errorf("%d steps are under way", c.active)
	}
}
