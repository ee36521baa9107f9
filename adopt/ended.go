package adopt

import (
	"time"

	"github.com/lethe-storage/lethe"
)

// EndedBy returns the instant up to which ends lie in the past at now. An hour that the clocks of
// the zone repeat counts from its second time on: an end in it may mean that.
func (r Rows) EndedBy(now lethe.Time) lethe.Time {
	at := now.Add(-time.Duration(r.Keep))
	if r.Zone == "" || ZoneOffset.MatchString(r.Zone) {
		return at
	}
	zone, err := time.LoadLocation(r.Zone)
	if err != nil {
		return at // the description was checked
	}
	local := at.Time().In(zone)
	_, back := local.ZoneBounds()
	if back.IsZero() {
		return at
	}
	_, before := local.Zone()
	_, after := back.Zone()
	repeats := back.Add(-time.Duration(before-after) * time.Second)
	if before <= after || local.Before(repeats) {
		return at
	}
	return lethe.FromTime(repeats).Add(-time.Microsecond)
}
