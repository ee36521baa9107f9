package reclaim

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/internal/clocktest"
)

// took is a window of n requests of which two in a hundred take longest.
func took(n int, most, longest time.Duration, busy bool) window {
	w := window{busy: busy}
	for i := range n {
		d := most
		if i%50 == 0 {
			d = longest
		}
		w.took = append(w.took, d)
	}
	return w
}

const ms = time.Millisecond

func TestPaceFollowsWhatClientsFeel(t *testing.T) {
	const slowest = slowestPace
	for _, c := range []struct {
		name     string
		from     pace
		w        window
		rest     time.Duration
		want     pace
		wantRest time.Duration
	}{
		{"nobody is there", slowest, took(3, ms, 900*ms, true), 10 * ms, 0, 10 * ms},
		{"rest is learnt", 0, took(200, 5*ms, 10*ms, false), 0, 0, 10 * ms},
		{"rest follows slowly", 0, took(200, 5*ms, 50*ms, false), 10 * ms, 0, 20 * ms},
		{"clients wait", 0, took(200, 5*ms, 15*ms, true), 10 * ms, 1, 10 * ms},
		{"never slower than the slowest pace", slowest, took(200, 5*ms, 900*ms, true), 10 * ms, slowest, 10 * ms},
		{"within what they may wait", 2, took(200, 5*ms, 11*ms, true), 10 * ms, 1, 10 * ms},
		{"noise of short requests", 2, took(200, ms/10, 2*ms, true), ms, 1, ms},
		{"faster than at rest", 2, took(40, 5*ms, 5*ms, true), 10 * ms, 1, 10*ms - 5*ms/8},
		{"busy from the start: it goes slowly to learn", 0, took(200, 5*ms, 90*ms, true), 0, slowest, 0},
		{"what is felt then stands for rest", slowest, took(200, 5*ms, 30*ms, true), 0, slowest - 1, 30 * ms},
	} {
		got, rest := c.from.next(c.w, c.rest, 1.2)
		if got != c.want || rest != c.wantRest {
			t.Errorf("%s: pace %d, rest %v; want %d, %v", c.name, got, rest, c.want, c.wantRest)
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

// TestGovernorWatchesWindows: requests while a step is under way make it slower,
// requests at rest teach it, and time without requests gives full speed back.
func TestGovernorWatchesWindows(t *testing.T) {
	clock := clocktest.At(1)
	g := &Governor{Clock: clock}
	requests := func(d time.Duration) {
		for range windowRequests + 1 {
			clock.Advance(windowLeast / windowRequests)
			g.Observe(d)
		}
	}
	requests(10 * ms)
	busy := func(context.Context, *Counts) (bool, error) {
		requests(40 * ms)
		return false, nil
	}
	if _, err := g.run(t.Context(), busy, &Counts{}); err != nil {
		t.Fatal(err)
	}
	if got := g.Size(1000); got != 500 {
		t.Fatalf("batches of %d while clients wait, want 500", got)
	}
	clock.Advance(windowMost)
	if got := g.Size(1000); got != 1000 {
		t.Fatalf("batches of %d after nobody was there, want 1000", got)
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
