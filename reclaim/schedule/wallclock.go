package schedule

import (
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
)

// maxFold is more than any zone has ever set its clocks back at once, dates that
// were skipped or repeated as a whole apart.
const maxFold = 3 * time.Hour

// opening returns the first activation of the cron expression after the given
// instant; lethe.Forever if none comes within searchYears.
//
// Wall-clock times are handled as instants of UTC (a wall), where every day has
// 24 hours, and only then put into the zone.
func (s Schedule) opening(after lethe.Time) lethe.Time {
	best := lethe.Forever
	// Looking back by more than a fold finds what comes a second time.
	wall := wallOf(after.Time().In(s.zone)).Add(-maxFold)
	for {
		wall = s.cron.Next(wall)
		if wall.IsZero() {
			return best
		}
		first, second := instants(wall, s.zone)
		if s.repeat && second > after && second < best {
			best = second
		}
		if first > after {
			return min(best, first)
		}
	}
}

// closings returns the closing times around an instant: the last that is not
// after it, and the first that is.
func (s Schedule) closings(at lethe.Time) (last, next lethe.Time) {
	midnight := wallOf(at.Time().In(s.zone)).Truncate(24 * time.Hour)
	for day := -3; day <= 3; day++ {
		c, _ := instants(midnight.AddDate(0, 0, day).Add(s.until), s.zone)
		if c > at {
			return last, c
		}
		last = c
	}
	return last, lethe.Forever
}

// wallOf returns the wall-clock time that t shows, as if it were UTC.
func wallOf(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// instants returns the first and the last instant at which clocks in the zone
// show the wall-clock time: the same one on ordinary days, two different ones
// when clocks were set back, and the instant of the change, twice, when they
// were set forward past it.
func instants(wall time.Time, zone *time.Location) (first, last lethe.Time) {
	near := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), zone)
	changes := changesAround(near)
	offsets := []time.Duration{offsetAt(near)}
	for _, c := range changes {
		offsets = append(offsets, offsetAt(c.Add(-1)), offsetAt(c))
	}
	var shown []lethe.Time
	for _, offset := range offsets {
		if t := wall.Add(-offset); offsetAt(t.In(zone)) == offset {
			shown = append(shown, lethe.FromTime(t))
		}
	}
	if len(shown) > 0 {
		return slices.Min(shown), slices.Max(shown)
	}
	for _, c := range changes {
		before, after := wallOf(c.Add(-1)), wallOf(c)
		if wall.After(before) && wall.Before(after) {
			return lethe.FromTime(c), lethe.FromTime(c)
		}
	}
	return lethe.FromTime(near), lethe.FromTime(near)
}

// changesAround returns the clock changes before and after t.
func changesAround(t time.Time) []time.Time {
	var changes []time.Time
	start, end := t.ZoneBounds()
	if !start.IsZero() {
		changes = append(changes, start)
	}
	if !end.IsZero() {
		changes = append(changes, end)
	}
	return changes
}

func offsetAt(t time.Time) time.Duration {
	_, offset := t.Zone()
	return time.Duration(offset) * time.Second
}
