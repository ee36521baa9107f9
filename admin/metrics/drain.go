package metrics

import (
	"math"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
)

const (
	// drainWindow is the time over which the shrinking of a backlog is
	// measured, and drainLeast the least for a result.
	drainWindow = 5 * time.Minute
	drainLeast  = 10 * time.Second
)

// sample is the length of a backlog at an instant.
type sample struct {
	at    lethe.Time
	count int64
}

// drains are the lengths of backlogs in the last minutes, by routine. Their
// decrease is the work of all instances together, less what became due.
type drains map[string][]sample

// note adds the present lengths, and drops old ones.
func (d *drains) note(now lethe.Time, routines []api.RoutineStatus) {
	if *d == nil {
		*d = drains{}
	}
	for _, r := range routines {
		list := append((*d)[r.Name], sample{now, r.Backlog.Due})
		for len(list) > 2 && now.Sub(list[1].at) >= drainWindow {
			list = list[1:]
		}
		(*d)[r.Name] = list
	}
}

// emptyIn estimates in how many seconds a backlog is empty. It needs more than
// one sample.
func (c *collector) emptyIn(routine string) (seconds float64, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.drains.emptyIn(routine)
}

func (d drains) emptyIn(routine string) (seconds float64, known bool) {
	list := d[routine]
	if len(list) == 0 {
		return 0, false
	}
	first, last := list[0], list[len(list)-1]
	took := last.at.Sub(first.at)
	switch {
	case last.count == 0:
		return 0, true
	case took < drainLeast:
		return 0, false
	case last.count >= first.count:
		return math.Inf(1), true
	}
	return float64(last.count) * took.Seconds() / float64(first.count-last.count), true
}
