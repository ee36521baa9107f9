package reclaim

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/clocktest"
)

const ms = time.Millisecond

// feeling is what clients feel, in a test: requests by a clock, beside reclaiming or
// not.
type feeling struct {
	felt
	now lethe.Time
}

// some are n requests, rate a second, of which one in each so many takes longest.
type some struct {
	n, rate, each int
	most, longest time.Duration
	busy          bool
}

func (f *feeling) requests(r some) {
	for i := range r.n {
		f.now = f.now.Add(time.Second / time.Duration(r.rate))
		took := r.most
		if i%r.each == r.each-1 {
			took = r.longest
		}
		f.turn(f.now, r.busy, 1.2)
		f.observe(f.now, took, r.busy, 1.2)
		f.turn(f.now, r.busy, 1.2)
	}
}

func TestPaceFollowsWhatClientsFeel(t *testing.T) {
	const slowest = slowestPace
	for _, c := range []struct {
		name string
		from pace
		rest time.Duration
		some
		want     pace
		wantRest time.Duration
	}{
		{"nobody is there", slowest, 10 * ms, some{18, 3, 1, ms, 90 * ms, true}, 0, 10 * ms},
		{"somebody waits for one after the other", slowest, 10 * ms, some{18, 3, 1, ms, 330 * ms, true}, slowest, 10 * ms},
		{"and does so from the beginning", 0, 10 * ms, some{36, 3, 1, ms, 330 * ms, true}, slowest, 10 * ms},
		{"rest is learnt", 0, 0, some{200, 100, 50, 5 * ms, 10 * ms, false}, 0, 10 * ms},
		{"rest follows slowly", 0, 10 * ms, some{200, 100, 50, 5 * ms, 50 * ms, false}, 0, 20 * ms},
		{"two slow ones among many are chance", 0, 10 * ms, some{199, 100, 90, 5 * ms, 50 * ms, true}, 0, 10 * ms},
		{"one in twenty waits", 0, 10 * ms, some{60, 100, 20, 5 * ms, 15 * ms, true}, 1, 10 * ms},
		{"all wait, for a moment", 0, 10 * ms, some{30, 100, 1, 5 * ms, 15 * ms, true}, 1, 10 * ms},
		{"all wait, for some seconds", 0, 10 * ms, some{300, 100, 1, 5 * ms, 15 * ms, true}, slowest, 10 * ms},
		{"never slower than the slowest pace", slowest, 10 * ms, some{400, 100, 1, 5 * ms, 900 * ms, true}, slowest, 10 * ms},
		{"within what they may wait", 2, 10 * ms, some{220, 100, 1, 5 * ms, 11 * ms, true}, 1, 10 * ms},
		{"a slow one in a hundred goes on as before", 2, 10 * ms, some{1000, 100, 100, 5 * ms, 50 * ms, true}, 2, 10 * ms},
		{"noise of short requests", 2, ms, some{220, 100, 1, 0, 2 * ms, true}, 1, ms},
		{"few, and none of them waits", 2, 10 * ms, some{61, 6, 1, 0, 10 * ms, true}, 1, 10 * ms},
		{"faster than at rest", 2, 10 * ms, some{200, 100, 1, 0, 5 * ms, true}, 1, 10*ms - 5*ms/8},
		{"not faster than noise", 2, 10 * ms, some{200, 100, 1, 0, 9 * ms, true}, 1, 10 * ms},
		{"busy from the start: it goes slowly to learn", 0, 0, some{200, 100, 1, 0, 90 * ms, true}, slowest, 0},
		{"what is felt then stands for rest", slowest, 0, some{200, 100, 1, 0, 30 * ms, true}, slowest - 1, 30 * ms},
	} {
		f := &feeling{now: 1, felt: felt{pace: c.from, rest: c.rest}}
		f.requests(c.some)
		if f.pace != c.want || f.rest != c.wantRest {
			t.Errorf("%s: pace %d, rest %v; want %d, %v", c.name, f.pace, f.rest, c.want, c.wantRest)
		}
	}
}

// TestPaceIsBounded: the slowest pace keeps half of the time, and batches that are
// worth a transaction.
func TestPaceIsBounded(t *testing.T) {
	p := pace(0)
	for range 100 {
		p = p.down()
	}
	if size, pause := p.size(1000), p.pause(time.Second); size != 62 || pause != time.Second {
		t.Errorf("the slowest pace: batches of %d, a rest of %v after a second", size, pause)
	}
	for range 100 {
		p = p.up()
	}
	if p != 0 || p.size(1000) != 1000 || p.pause(time.Hour) != 0 {
		t.Errorf("full speed: %d", p)
	}
}

func TestSizesAreBounded(t *testing.T) {
	var none Size
	tiny := Size(func(int) int { return 0 })
	huge := Size(func(full int) int { return 10 * full })
	for _, c := range []struct {
		got, want int
	}{
		{none.of(1000, 4), 1000}, {tiny.of(1000, 4), 250}, {tiny.of(1, 4), 1}, {huge.of(1000, 4), 1000}, {tiny.of(0, 4), 0},
	} {
		if c.got != c.want {
			t.Errorf("%d, want %d", c.got, c.want)
		}
	}
}

// clients make requests of a governor's store: for each kind so many a second, that
// take so long.
type clients struct {
	g             *Governor
	clock         *clocktest.Clock
	reads, writes int
}

func (c clients) ask(d, read, write time.Duration) {
	const tick = 10 * ms
	for at := range int(d / tick) {
		c.clock.Advance(tick)
		for _, k := range []struct {
			kind Kind
			rate int
			took time.Duration
		}{{Reads, c.reads, read}, {Writes, c.writes, write}} {
			if k.rate > 0 && (at+1)*k.rate/100 > at*k.rate/100 {
				c.g.Observe(k.kind, k.took)
			}
		}
	}
}

// beside makes requests while a step of a routine is under way.
func (c clients) beside(t *testing.T, d, read, write time.Duration) {
	t.Helper()
	step := func(context.Context, *Counts) (bool, error) {
		c.ask(d, read, write)
		return false, nil
	}
	if _, err := c.g.run(t.Context(), step, &Counts{}); err != nil {
		t.Fatal(err)
	}
}

// TestGovernorJudgesKindsByThemselves: reads that take several times as long as at rest
// are heeded, although writes take longer than they do at any time, and the other way
// round; what the one kind is fine with does not hide what the other asks for.
func TestGovernorJudgesKindsByThemselves(t *testing.T) {
	for _, c := range []struct {
		name          string
		reads, writes int // a second
		read, write   time.Duration
		want          Pressure
	}{
		{"reads wait", 50, 50, 20 * ms, 100 * ms, Pressure{4, "clients", Reads}},
		{"writes wait", 50, 50, 5 * ms, 300 * ms, Pressure{4, "clients", Writes}},
		{"both wait", 50, 50, 20 * ms, 300 * ms, Pressure{4, "clients", Reads}},
		{"none waits", 50, 50, 5 * ms, 100 * ms, Pressure{}},
		{"a few reads wait, beside many writes", 10, 100, 20 * ms, 100 * ms, Pressure{4, "clients", Reads}},
		{"too few reads to tell", 2, 100, 900 * ms, 100 * ms, Pressure{}},
		{"too few reads to tell hide nothing", 2, 100, 5 * ms, 300 * ms, Pressure{4, "clients", Writes}},
	} {
		clock := clocktest.At(1)
		of := clients{&Governor{Clock: clock}, clock, c.reads, c.writes}
		of.ask(10*time.Second, 5*ms, 100*ms)
		of.beside(t, 10*time.Second, c.read, c.write)
		if p := of.g.Pressure(); p != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, p, c.want)
		}
	}
}

// TestGovernorWatchesRequests: requests while a step is under way make it slower,
// requests at rest teach it, and time without requests gives full speed back.
func TestGovernorWatchesRequests(t *testing.T) {
	clock := clocktest.At(1)
	of := clients{&Governor{Clock: clock}, clock, 100, 0}
	of.ask(5*time.Second, 10*ms, 0)
	of.ask(300*ms, 40*ms, 0)
	if got := of.g.Size(1000); got != 1000 {
		t.Fatalf("batches of %d although nothing is reclaimed that clients could wait for", got)
	}
	of.beside(t, 200*ms, 40*ms, 0)
	if got := of.g.Size(1000); got != 500 {
		t.Fatalf("batches of %d while clients wait, want 500", got)
	}
	clock.Advance(clientsGone)
	if got := of.g.Size(1000); got != 1000 {
		t.Fatalf("batches of %d after nobody was there, want 1000", got)
	}
}

// TestGovernorHeedsTheRest: requests between two steps still feel the one before.
func TestGovernorHeedsTheRest(t *testing.T) {
	clock := clocktest.At(1)
	of := clients{&Governor{Clock: clock}, clock, 100, 0}
	of.ask(5*time.Second, 10*ms, 0)
	for range 10 {
		works := func(_ context.Context, c *Counts) (bool, error) {
			c.Add(Items, 1)
			return false, nil
		}
		if _, err := of.g.run(t.Context(), works, &Counts{}); err != nil {
			t.Fatal(err)
		}
		of.ask(afterwards-10*ms, 40*ms, 0)
	}
	if p := of.g.Pressure(); p != (Pressure{int(slowestPace), "clients", Reads}) {
		t.Errorf("%+v", p)
	}
}

// TestGovernorCountsFailedSteps: a step that fails is not under way any more.
func TestGovernorCountsFailedSteps(t *testing.T) {
	g := &Governor{Clock: clocktest.At(1)}
	broken := errors.New("broken")
	if _, err := g.run(t.Context(), func(context.Context, *Counts) (bool, error) { return false, broken }, &Counts{}); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if g.active != 0 {
		t.Errorf("%d steps are under way", g.active)
	}
}
