package reclaim_test

import (
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/schedule"
)

// TestInterval: the longest time without a run explains for how long items may be due.
func TestInterval(t *testing.T) {
	noon := lethe.FromTime(time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC))
	for text, want := range map[string]time.Duration{
		"":                            0,
		"every 5s":                    5 * time.Second,
		"every 24h":                   24 * time.Hour,
		"cron \"0 2 * * *\" zone UTC": 24 * time.Hour,
		"cron \"0 2 * * *\" zone UTC until 05:00 every 1m": 24 * time.Hour, // closed now
	} {
		var s schedule.Schedule
		if text != "" {
			var err error
			if s, err = schedule.Parse(text); err != nil {
				t.Fatal(err)
			}
		}
		if got := (reclaim.Scheduled{Timetable: s}).Interval(noon); got != want {
			t.Errorf("%q: %s, wanted %s", text, got, want)
		}
	}
}
