package throttle

import (
	"time"

	"github.com/lethe-storage/lethe"
)

// Level is a backoff level: how many steps slower than at full speed reclaiming goes,
// from 0 to Slowest.
type Level int

// Slowest takes batches of a sixteenth and rests half of the time. That keeps about
// a third of the full rate, so that a store does not take in more than it removes.
const Slowest Level = 4

// size is what is left of a batch. 0 stays 0: no limit.
func (l Level) size(full int) int {
	if full <= 0 {
		return full
	}
	return max(full>>l, 1)
}

// rest is how long to rest after working for so long.
func (l Level) rest(worked time.Duration) time.Duration {
	return worked * time.Duration(max(l, 0)) / time.Duration(Slowest)
}

// evidence is how many more slow samples than their share raise the level, and how
// many fewer lower it. Chance alone gives three slow requests among a few dozen once
// in a hundred times.
const evidence = 2

// backoff is a level and the evidence for another one.
type backoff struct {
	level   Level
	excess  float64    // slow samples, less their share of all
	changed lethe.Time // when the level was changed
}

// count adds a sample. Share is the part of all samples that may be slow.
func (b *backoff) count(slow bool, share float64) {
	b.excess -= share
	if slow {
		b.excess++
	}
	b.excess = min(max(b.excess, -evidence), 2*evidence)
}

// decide changes the level by a step if there is evidence for it. A level is kept
// for hold at least, until its effect shows in the samples.
func (b *backoff) decide(now lethe.Time, hold time.Duration) {
	switch {
	case now.Sub(b.changed) < hold:
	case b.excess >= evidence:
		b.set(now, b.level+1)
	case b.excess <= -evidence:
		b.set(now, b.level-1)
	}
}

// set changes the level, within bounds, and begins to count anew.
func (b *backoff) set(now lethe.Time, l Level) {
	if l = min(max(l, 0), Slowest); l != b.level {
		b.level, b.changed = l, now
	}
	b.excess = 0
}
