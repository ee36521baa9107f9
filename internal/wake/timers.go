package wake

import (
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
)

// maxTimers bounds the future wake-ups of one routine; more are left to the
// ticks.
const maxTimers = 64

// timers has future wake-ups, at least a gap apart.
type timers struct {
	gap  time.Duration
	due  map[string][]lethe.Time // in order, without duplicates
	last map[string]lethe.Time   // when the routine was last taken
}

func newTimers(gap time.Duration) timers {
	return timers{gap: gap, due: map[string][]lethe.Time{}, last: map[string]lethe.Time{}}
}

// add adds a wake-up for in from now, and a gap after the last one at the
// earliest. Future times are rounded up to whole gaps, to merge many.
func (a *timers) add(routine string, now lethe.Time, in time.Duration) {
	ahead, at := a.due[routine], now.Add(in)
	if gap := lethe.Time(a.gap / time.Microsecond); in > 0 && gap > 0 {
		at = (at + gap - 1) / gap * gap
	}
	if last := a.last[routine]; last != 0 {
		at = max(at, last.Add(a.gap))
	}
	i, found := slices.BinarySearch(ahead, at)
	// A waiting wake-up is taken from now on, so it covers work that is due.
	if found || in <= 0 && i > 0 || len(ahead) >= maxTimers {
		return
	}
	a.due[routine] = slices.Insert(ahead, i, at)
}

// take removes what is due and returns the routines, each once, in order.
func (a *timers) take(now lethe.Time) []string {
	var out []string
	for routine, ahead := range a.due {
		past := len(ahead) - len(after(ahead, now))
		if past == 0 {
			continue
		}
		out = append(out, routine)
		a.last[routine] = now
		// What would follow too soon is deferred.
		rest := ahead[past:]
		if soonest := now.Add(a.gap); len(rest) > 0 && rest[0] < soonest {
			rest = append([]lethe.Time{soonest}, after(rest, soonest)...)
		}
		a.due[routine] = slices.Clone(rest)
	}
	slices.Sort(out)
	return out
}

// after returns the part of the ordered times that is later than at.
func after(times []lethe.Time, at lethe.Time) []lethe.Time {
	i, found := slices.BinarySearch(times, at)
	if found {
		i++
	}
	return times[i:]
}

// next returns when something is due, Forever if nothing is.
func (a *timers) next() lethe.Time {
	next := lethe.Forever
	for _, ahead := range a.due {
		if len(ahead) > 0 {
			next = min(next, ahead[0])
		}
	}
	return next
}

// drain removes everything and returns in how many milliseconds it is due.
func (a *timers) drain(now lethe.Time) map[string][]int64 {
	out := map[string][]int64{}
	for routine, ahead := range a.due {
		for _, at := range ahead {
			out[routine] = append(out[routine], max(at.Sub(now), 0).Milliseconds())
		}
	}
	clear(a.due)
	return out
}
