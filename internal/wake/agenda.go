package wake

import (
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
)

// agendaKept bounds the wake-ups that lie ahead for one routine; more are left
// to the ticks.
const agendaKept = 64

// agenda holds the wake-ups that lie ahead, taken at least a gap apart.
type agenda struct {
	gap  time.Duration
	due  map[string][]lethe.Time // in order, none twice
	last map[string]lethe.Time   // when the routine was taken last
}

func newAgenda(gap time.Duration) agenda {
	return agenda{gap: gap, due: map[string][]lethe.Time{}, last: map[string]lethe.Time{}}
}

// add notes a wake-up for in from now, and a gap after the last one at the
// earliest. Times ahead are rounded up to whole gaps, so that many make few.
func (a *agenda) add(routine string, now lethe.Time, in time.Duration) {
	ahead, at := a.due[routine], now.Add(in)
	if gap := lethe.Time(a.gap / time.Microsecond); in > 0 && gap > 0 {
		at = (at + gap - 1) / gap * gap
	}
	if last := a.last[routine]; last != 0 {
		at = max(at, last.Add(a.gap))
	}
	i, found := slices.BinarySearch(ahead, at)
	// What waits to be taken is taken from now on, so it does for work that is due.
	if found || in <= 0 && i > 0 || len(ahead) >= agendaKept {
		return
	}
	a.due[routine] = slices.Insert(ahead, i, at)
}

// take removes what is due and answers the routines, each once, in order.
func (a *agenda) take(now lethe.Time) []string {
	var out []string
	for routine, ahead := range a.due {
		past := len(ahead) - len(after(ahead, now))
		if past == 0 {
			continue
		}
		out = append(out, routine)
		a.last[routine] = now
		// What would follow too soon is put off.
		rest := ahead[past:]
		if soonest := now.Add(a.gap); len(rest) > 0 && rest[0] < soonest {
			rest = append([]lethe.Time{soonest}, after(rest, soonest)...)
		}
		a.due[routine] = slices.Clone(rest)
	}
	slices.Sort(out)
	return out
}

// after is the part of the ordered times that is later than at.
func after(times []lethe.Time, at lethe.Time) []lethe.Time {
	i, found := slices.BinarySearch(times, at)
	if found {
		i++
	}
	return times[i:]
}

// next is when something is due, Forever if nothing is.
func (a *agenda) next() lethe.Time {
	next := lethe.Forever
	for _, ahead := range a.due {
		if len(ahead) > 0 {
			next = min(next, ahead[0])
		}
	}
	return next
}

// drain removes everything and answers in how many milliseconds it is due.
func (a *agenda) drain(now lethe.Time) map[string][]int64 {
	out := map[string][]int64{}
	for routine, ahead := range a.due {
		for _, at := range ahead {
			out[routine] = append(out[routine], max(at.Sub(now), 0).Milliseconds())
		}
	}
	clear(a.due)
	return out
}
