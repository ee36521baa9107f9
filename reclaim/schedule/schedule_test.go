package schedule

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // zones without the machine's files

	"github.com/lethe-storage/lethe"
)

func instant(t *testing.T, s string) lethe.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return lethe.FromTime(at)
}

func parse(t *testing.T, text string) Schedule {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Clocks in Berlin went forward on 30 March 2025 at 02:00 (01:00Z) and back on
// 26 October 2025 at 03:00 (01:00Z).
func TestNext(t *testing.T) {
	const nightly = "cron 0 0 * * * zone Europe/Berlin until 06:00"
	for _, c := range []struct{ schedule, after, want string }{
		{"every 1m", "2025-01-01T00:00:30Z", "2025-01-01T00:01:30Z"},
		{"every 1d", "2025-03-29T12:00:00Z", "2025-03-30T12:00:00Z"},
		{"cron 0 0 * * *", "2025-01-01T00:00:00Z", "2025-01-02T00:00:00Z"},
		{"cron 0 0 * * *", "2025-01-01T23:59:59Z", "2025-01-02T00:00:00Z"},
		{"cron @daily zone America/New_York", "2025-01-01T00:00:00Z", "2025-01-01T00:00:00-05:00"},
		{nightly, "2025-01-01T00:00:00+01:00", "2025-01-02T00:00:00+01:00"},
		{nightly, "2025-03-29T12:00:00+01:00", "2025-03-30T00:00:00+01:00"},
		{nightly, "2025-03-30T00:00:00+01:00", "2025-03-31T00:00:00+02:00"},
		{nightly, "2025-10-26T00:00:00+02:00", "2025-10-27T00:00:00+01:00"},
		// 02:30 is skipped in spring: at the change, once.
		{"cron 30 2 * * * zone Europe/Berlin", "2025-03-30T00:00:00Z", "2025-03-30T01:00:00Z"},
		{"cron 30 2 * * * zone Europe/Berlin", "2025-03-30T01:00:00Z", "2025-03-31T00:30:00Z"},
		// It comes twice in autumn: the first only.
		{"cron 30 2 * * * zone Europe/Berlin", "2025-10-25T12:00:00Z", "2025-10-26T00:30:00Z"},
		{"cron 30 2 * * * zone Europe/Berlin", "2025-10-26T00:30:00Z", "2025-10-27T01:30:00Z"},
		// Every hour is every hour.
		{"cron 30 * * * * zone Europe/Berlin", "2025-10-26T00:30:00Z", "2025-10-26T01:30:00Z"},
		{"cron 30 * * * * zone Europe/Berlin", "2025-10-26T01:30:00Z", "2025-10-26T02:30:00Z"},
		{"cron @hourly zone Europe/Berlin", "2025-10-26T00:00:00Z", "2025-10-26T01:00:00Z"},
		{"cron */20 * * * * zone Europe/Berlin", "2025-10-26T00:40:00Z", "2025-10-26T01:00:00Z"},
		{"cron @hourly zone Europe/Berlin", "2025-03-30T00:00:00Z", "2025-03-30T01:00:00Z"},
		// Half an hour on Lord Howe Island; midnight that does not exist in Beirut.
		{"cron 15 2 * * * zone Australia/Lord_Howe", "2025-10-04T12:00:00Z", "2025-10-04T15:30:00Z"},
		{"cron 45 * * * * zone Australia/Lord_Howe", "2025-04-05T14:45:00Z", "2025-04-05T15:15:00Z"},
		{"cron 0 0 * * * zone Asia/Beirut", "2025-03-29T12:00:00Z", "2025-03-29T22:00:00Z"},
		// Samoa had no 30 December 2011.
		{"cron 0 12 * * * zone Pacific/Apia", "2011-12-29T12:00:00-10:00", "2011-12-31T00:00:00+14:00"},
		// Days of month and week: either, as crontab(5) has it; rare dates.
		{"cron 0 0 13 * 5", "2025-01-01T00:00:00Z", "2025-01-03T00:00:00Z"},
		{"cron 0 0 29 2 *", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"},
		{"cron 0 22 * * MON-FRI until 04:00", "2025-01-03T22:00:00Z", "2025-01-06T22:00:00Z"},
		// Passes repeat while the window is open, and only then.
		{"cron 0 22 * * * until 04:00 every 1h", "2025-01-01T22:30:00Z", "2025-01-01T23:30:00Z"},
		{"cron 0 22 * * * until 04:00 every 1h", "2025-01-02T02:59:59Z", "2025-01-02T03:59:59Z"},
		{"cron 0 22 * * * until 04:00 every 1h", "2025-01-02T03:00:00Z", "2025-01-02T22:00:00Z"},
		{"cron 0 22 * * * until 04:00 every 1h", "2025-01-02T12:00:00Z", "2025-01-02T22:00:00Z"},
	} {
		got := parse(t, c.schedule).Next(instant(t, c.after))
		if want := instant(t, c.want); got != want {
			t.Errorf("%s: Next(%s) = %s; want %s", c.schedule, c.after, got, want)
		}
	}
}

func TestWindow(t *testing.T) {
	const (
		nightly  = "cron 0 0 * * * zone Europe/Berlin until 06:00"
		midnight = "cron 0 22 * * MON-FRI zone Europe/Berlin until 04:00"
	)
	for _, c := range []struct{ schedule, at, closes string }{
		{nightly, "2025-01-01T00:00:00+01:00", "2025-01-01T06:00:00+01:00"},
		{nightly, "2025-01-01T05:59:59+01:00", "2025-01-01T06:00:00+01:00"},
		{nightly, "2025-01-01T06:00:00+01:00", ""},
		{nightly, "2024-12-31T23:59:59+01:00", ""},
		{nightly, "2025-01-01T12:00:00+01:00", ""},
		// Five and seven hours on the nights of the change, 06:00 by the clock.
		{nightly, "2025-03-30T00:00:00+01:00", "2025-03-30T06:00:00+02:00"},
		{nightly, "2025-03-30T05:59:00+02:00", "2025-03-30T06:00:00+02:00"},
		{nightly, "2025-10-26T00:00:00+02:00", "2025-10-26T06:00:00+01:00"},
		{nightly, "2025-10-26T02:30:00+02:00", "2025-10-26T06:00:00+01:00"},
		{nightly, "2025-10-26T02:30:00+01:00", "2025-10-26T06:00:00+01:00"},
		// Across midnight: opened on Friday, it lasts into Saturday.
		{midnight, "2025-01-03T22:00:00+01:00", "2025-01-04T04:00:00+01:00"},
		{midnight, "2025-01-04T03:59:59+01:00", "2025-01-04T04:00:00+01:00"},
		{midnight, "2025-01-04T22:00:00+01:00", ""},
		{midnight, "2025-01-05T01:00:00+01:00", ""},
		{midnight, "2025-03-28T23:00:00+01:00", "2025-03-29T04:00:00+01:00"},
		// The end is skipped, or comes twice (the first counts).
		{"cron 0 0 * * * zone Europe/Berlin until 02:30", "2025-03-30T00:30:00+01:00", "2025-03-30T01:00:00Z"},
		{"cron 0 0 * * * zone Europe/Berlin until 02:30", "2025-03-30T03:00:00+02:00", ""},
		{"cron 0 0 * * * zone Europe/Berlin until 02:30", "2025-10-26T00:30:00+02:00", "2025-10-26T00:30:00Z"},
		{"cron 0 0 * * * zone Europe/Berlin until 02:30", "2025-10-26T02:15:00+01:00", ""},
		// Opening at the time of closing lasts a whole day.
		{"cron 0 6 * * * until 06:00", "2025-01-01T06:00:00Z", "2025-01-02T06:00:00Z"},
		{"cron 0 6 * * 1 until 06:00", "2025-01-07T06:00:00Z", ""},
		{"cron 0 6 * * 1 until 06:00", "2025-01-07T05:59:59Z", "2025-01-07T06:00:00Z"},
		{"cron 0 6 * * 1 until 06:00", "2025-01-06T05:59:59Z", ""},
	} {
		open, closes := parse(t, c.schedule).Window(instant(t, c.at))
		want := lethe.Time(0)
		if c.closes != "" {
			want = instant(t, c.closes)
		}
		if open != (c.closes != "") || closes != want {
			t.Errorf("%s: Window(%s) = %v, %s; want %s", c.schedule, c.at, open, closes, want)
		}
	}
}

func TestWithoutEndIsAlwaysOpen(t *testing.T) {
	for _, text := range []string{"every 1m", "cron 0 0 * * *"} {
		if open, closes := parse(t, text).Window(1); !open || closes != lethe.Forever {
			t.Errorf("%s: Window = %v, %s; want open for ever", text, open, closes)
		}
	}
}

func TestZeroScheduleNeverRuns(t *testing.T) {
	var s Schedule
	open, closes := s.Window(1)
	if !s.IsZero() || s.Next(1) != lethe.Forever || open || closes != 0 || s.String() != "" {
		t.Errorf("zero schedule: Next %s, Window %v %s, %q", s.Next(1), open, closes, s)
	}
}

func TestEndOfTime(t *testing.T) {
	s := parse(t, "cron 0 0 * * * until 06:00 every 1m")
	for _, at := range []lethe.Time{endOfTime, lethe.Forever - 1, lethe.Forever} {
		if open, _ := s.Window(at); open || s.Next(at) != lethe.Forever {
			t.Errorf("at %d: open %v, next %s", at, open, s.Next(at))
		}
	}
	if next := s.Next(-1 << 63); next != 0 {
		t.Errorf("Next(smallest) = %s; want 1970", next)
	}
	if next := parse(t, "every 1m").Next(lethe.Forever - 1); next != lethe.Forever {
		t.Errorf("interval beyond the end: %d", next)
	}
}

func TestTextRoundTrips(t *testing.T) {
	for text, want := range map[string]string{
		"every 1m":                             "every 1m",
		"  every   90s ":                       "every 1m30s",
		"cron 0 0 * * *":                       `cron "0 0 * * *"`,
		"until 06:00 cron 0 0 * * *  zone UTC": `cron "0 0 * * *" zone UTC until 06:00`,
		`cron "@daily"`:                        `cron "@daily"`,
		`cron "0 22 * * MON-FRI" zone Europe/Berlin until 04:00 every 5m`: `cron "0 22 * * MON-FRI" zone Europe/Berlin until 04:00 every 5m`,
	} {
		s := parse(t, text)
		if s.String() != want {
			t.Errorf("%s: String() = %s; want %s", text, s, want)
		}
		again, err := Parse(s.String())
		if err != nil || again.Spec() != s.Spec() {
			t.Errorf("%s: read again %v, %v", text, again, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, says := range map[string]string{
		"":                                     "is empty",
		"hourly":                               `at "hourly"; use "every 1m"`,
		"every":                                `cut off after "every"`,
		"every 5":                              "no unit",
		"every 0s":                             "is zero",
		"every 1us":                            "1ms to 365d",
		"every 366d":                           "1ms to 365d",
		"every 1m every 2m":                    "twice",
		"every 1m until 06:00":                 "need a cron expression",
		"zone UTC":                             "neither every nor cron",
		"cron 0 0 * *":                         "cut off",
		"cron 0 0 * * * every 5m":              "needs until",
		"cron 60 0 * * *":                      "60",
		"cron 0 0 30 2 *":                      "never comes",
		"cron 0 0 * * * zone Mars/Olympus":     "zone \"Mars/Olympus\" is not known",
		"cron 0 0 * * * zone ../etc":           "is not known",
		"cron 0 0 * * * until 6:00":            "use HH:MM",
		"cron 0 0 * * * until 24:00":           "use HH:MM",
		"cron CRON_TZ=UTC 0 0 * *":             "write it as zone",
		"cron @every":                          "write it as every",
		"cron @fortnightly":                    "fortnightly",
		"cron H 0 * * *":                       "h expressions",
		"cron 0 0 * * * " + longText("x", 500): "not understood",
	} {
		s, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), says) || !s.IsZero() {
			t.Errorf("Parse(%.40q) = %v, %v; want an error that says %q", text, s, err, says)
		}
	}
}

func longText(s string, n int) string { return strings.Repeat(s, n) }

func TestUnmarshalKeepsOldOnError(t *testing.T) {
	s := parse(t, "every 1m")
	if err := s.UnmarshalText([]byte("nonsense")); err == nil || s.String() != "every 1m" {
		t.Errorf("after a bad text: %v, %v", s, err)
	}
	if err := s.UnmarshalText([]byte("every 2m")); err != nil || s.String() != "every 2m" {
		t.Errorf("after a good text: %v, %v", s, err)
	}
}
