package adopt

import (
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
)

// While the clocks of a zone are about to be set back, an end in the hour that comes again has
// not passed.
func TestEndsInARepeatedHour(t *testing.T) {
	at := func(text string) lethe.Time {
		t.Helper()
		v, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return lethe.FromTime(v)
	}
	// Berlin sets them back at 01:00 UTC, and New York at 06:00 UTC.
	const before = "2031-10-25T23:59:59.999999Z"
	for _, c := range []struct{ zone, keep, now, want string }{
		{"Europe/Berlin", "0s", "2031-10-25T23:59:00Z", "2031-10-25T23:59:00Z"},
		{"Europe/Berlin", "0s", "2031-10-26T00:00:00Z", before},
		{"Europe/Berlin", "0s", "2031-10-26T00:59:59Z", before},
		{"Europe/Berlin", "0s", "2031-10-26T01:00:00Z", "2031-10-26T01:00:00Z"},
		{"Europe/Berlin", "24h", "2031-10-27T00:30:00Z", before},
		{"Europe/Berlin", "0s", "2031-03-30T00:30:00Z", "2031-03-30T00:30:00Z"},
		{"America/New_York", "0s", "2031-11-02T05:30:00Z", "2031-11-02T04:59:59.999999Z"},
		{"UTC", "1h", "2031-10-26T01:30:00Z", "2031-10-26T00:30:00Z"},
		{"+02:00", "0s", "2031-10-26T00:30:00Z", "2031-10-26T00:30:00Z"},
		{"", "0s", "2031-10-26T00:30:00Z", "2031-10-26T00:30:00Z"},
	} {
		keep, err := time.ParseDuration(c.keep)
		if err != nil {
			t.Fatal(err)
		}
		if got := (Rows{Zone: c.zone, Keep: Duration(keep)}).EndedBy(at(c.now)); got != at(c.want) {
			t.Errorf("%s, kept %s, at %s: %s, want %s", c.zone, c.keep, c.now, got, c.want)
		}
	}
}
