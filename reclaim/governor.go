package reclaim

import (
	"context"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
)

// Governor slows reclaiming down while clients wait longer for it, and lets it go
// on at full speed when they do not. It compares the slowest hundredth of their
// requests with what it was while nothing was reclaimed; reads and writes each with
// themselves, because what the slow ones feel would hide what the quick ones do. The
// pace is the slower of what either asks for. It makes batches smaller,
// because a request waits for a batch at most, and rests between them, because
// clients need the processors and the disk as well. It never stops: batches and rests are bounded, so that
// reclaiming keeps about a third of its free rate: politeness must not make a
// store take in more than it forgets.
//
// The zero value with a Clock is ready. A nil Governor does nothing.
type Governor struct {
	// Yield is how many times as long as at rest the slowest hundredth of the
	// requests of a kind may take. 0 is 1.2.
	Yield float64
	// Deaf: clients may wait as long as it takes, here and elsewhere.
	Deaf  bool
	Clock lethe.Clock // best one that never jumps, lethe.Monotonic
	// Database, if set, asks for a slower pace while the ledger is busy.
	Database *Strain
	// Changed, if set, is told of each change of the pace and what asks for it; it
	// must not call the governor.
	Changed func(Pressure)

	mu     sync.Mutex
	other  foreign
	told   Pressure
	reads  felt
	writes felt
	active int        // steps under way
	did    lethe.Time // when a step ended that did something; 0: none
	worked bool       // something was reclaimed since Share was asked
}

// Kind is what a request does, by which it is judged.
type Kind string

// Reads get an object, or its description; Writes put or delete one.
const (
	Reads  Kind = "reads"
	Writes Kind = "writes"
)

// pace is how many steps slower than at full speed reclaiming goes.
type pace int

// slowestPace takes batches of a sixteenth, and a half of the time.
const slowestPace pace = 4

// size is what is left of a batch.
func (p pace) size(full int) int { return max(full>>p, 1) }

// pause is how long to rest after working for so long.
func (p pace) pause(worked time.Duration) time.Duration {
	return worked * time.Duration(p) / time.Duration(slowestPace)
}

// down is the next slower pace, up the next faster one.
func (p pace) down() pace { return min(p+1, slowestPace) }
func (p pace) up() pace   { return max(p-1, 0) }

// afterwards is how long after a step that did something requests still feel it.
const afterwards = 500 * time.Millisecond

// Observe tells of a client's request that was answered, and how long the server took
// for it: what a client's connection takes is not reclaiming's fault.
func (g *Governor) Observe(k Kind, took time.Duration) {
	if g == nil || g.Deaf {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	f := &g.writes
	if k == Reads {
		f = &g.reads
	}
	g.turn()
	now := g.Clock.Now()
	f.observe(now, took, g.busy(now), g.limit())
	g.turn()
}

// busy says that something is being reclaimed, here or elsewhere, or was just now.
func (g *Governor) busy(now lethe.Time) bool {
	return g.active > 0 || g.other.busy || g.did != 0 && now.Sub(g.did) < afterwards
}

func (g *Governor) limit() float64 {
	if g.Yield == 0 {
		return 1.2
	}
	return g.Yield
}

// turn closes the windows whose time it is.
func (g *Governor) turn() {
	now := g.Clock.Now()
	busy := g.busy(now)
	g.reads.turn(now, busy, g.limit())
	g.writes.turn(now, busy, g.limit())
}

// Size is how much of a full batch to take now.
func (g *Governor) Size(full int) int {
	if g == nil {
		return full
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asked().size(full)
}

// run takes a step, and rests after it.
func (g *Governor) run(ctx context.Context, step Step, c *Counts) (more bool, err error) {
	if g == nil {
		return step(ctx, c)
	}
	before, at := c.Get(Items), g.Clock.Now()
	g.enter(1, false)
	more, err = step(ctx, c)
	pause := g.enter(-1, c.Get(Items) > before).pause(g.Clock.Now().Sub(at))
	if err == nil && more && pause > 0 {
		sleepFor(ctx, pause)
	}
	return more, err
}

// enter counts steps under way, and says whether one did something.
func (g *Governor) enter(steps int, did bool) pace {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active += steps
	g.worked = g.worked || did
	if did {
		g.did = g.Clock.Now()
	}
	return g.asked()
}

// Size says how much of a full batch to take now. Nil: all of it.
type Size func(full int) int

// of is the size of the next batch, between the given share (a divisor) of the
// full one and all of it. A limit of 0 stays: no limit.
func (s Size) of(full, divisor int) int {
	if s == nil || full <= 0 {
		return full
	}
	return min(max(s(full), full/divisor, 1), full)
}
