package schedule

import (
	"testing"

	"github.com/lethe-storage/lethe"
)

// FuzzCronWindow holds Next and Window against each other and against the
// definition, for every expression, zone, end and instant.
func FuzzCronWindow(f *testing.F) {
	for _, s := range []struct {
		text string
		at   int64 // seconds
	}{
		{"every 1m", 0},
		{"cron 0 0 * * * zone Europe/Berlin until 06:00", 1743292800},
		{"cron 30 2 * * * zone Europe/Berlin until 02:30", 1761436800},
		{"cron */15 * * * * zone Australia/Lord_Howe until 02:00 every 7m", 1743867000},
		{"cron 0 0 29 2 * zone Pacific/Apia until 00:00", 1325196000},
		{"cron @monthly zone America/Sao_Paulo until 23:59", 1541300400},
		{"cron 0 22 * * 5-1 zone Asia/Beirut until 04:00", 1743285600},
	} {
		f.Add(s.text, s.at)
	}
	f.Fuzz(func(t *testing.T, text string, seconds int64) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(s.String())
		if err != nil || again.Spec() != s.Spec() {
			t.Fatalf("%q is %q, read again %v, %v", text, s, again, err)
		}
		checkInstant(t, s, lethe.Time(seconds%250_000_000_000)*1_000_000)
	})
}

func checkInstant(t *testing.T, s Schedule, at lethe.Time) {
	next := s.Next(at)
	if next <= at {
		t.Fatalf("%s: Next(%s) = %s, not later", s, at, next)
	}
	if at < 0 || at >= endOfTime || next >= endOfTime {
		return
	}
	// Nothing begins between: Next does not skip, whatever instant it is asked at.
	if s.spec.Cron != "" && s.spec.Every == 0 {
		if mid := at + (next-at)/2; s.Next(mid) != next {
			t.Fatalf("%s: Next(%s) = %s, but Next(%s) = %s", s, at, next, mid, s.Next(mid))
		}
	}
	if open, closes := s.Window(next); !open || closes <= next {
		t.Fatalf("%s: begins at %s, when its window is open: %v, until %s", s, next, open, closes)
	}
	open, closes := s.Window(at)
	if s.spec.Until == "" || !open {
		return
	}
	const longest = 50 * 3_600_000_000 // a repeated or skipped day included
	if closes <= at || closes > at+longest {
		t.Fatalf("%s: Window(%s) closes %s", s, at, closes)
	}
	if stillOpen, c := s.Window(closes - 1); !stillOpen || c != closes {
		t.Fatalf("%s: Window(%s) closes %s, but just before that it is %v, %s", s, at, closes, stillOpen, c)
	}
}
