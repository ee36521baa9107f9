package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/admin/api"
)

// A clock that was ten days ahead leaves the ledger's ahead until an operator,
// informed of the consequences, resets it.
func TestClockReset(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "before", "bytes", "1h")
	w.fails("nothing to reset", "clock", "reset", "--to-now")
	w.clock.Advance(240 * time.Hour)
	w.put("first", "during", "other bytes", "1h")
	w.clock.Advance(-240 * time.Hour)
	if text := w.ok("status"); !strings.Contains(text, "lethe clock show") {
		t.Errorf("status says\n%s", text)
	}
	if s := asked[api.Clock](w, "clock", "show"); s.Ahead < 239*3600 || s.Hidden != 1 || s.Longer != 1 || len(s.Others) != 0 {
		t.Errorf("the clock stands so: %+v", s)
	}
	lines := func(text string, want ...string) {
		t.Helper()
		for _, line := range want {
			if !regexp.MustCompile("(?m)^" + line + "$").MatchString(text) {
				t.Errorf("no line %q in\n%s", line, text)
			}
		}
	}
	lines(w.ok("clock", "show"), `ledger   20\S+ \S+.*`, `machine  20\S+ \S+.*`,
		`The ledger's clock is (9 d 23 h|10 d) ahead: nothing becomes due until the machine's has caught up\.`, `After a reset:`,
		`  1 object that clients cannot see any more would be visible until their time`, `  1 object stored meanwhile would end up to (9 d 23 h|10 d) later than promised`)
	w.fails("--to-now", "clock", "reset")
	w.fails("longer than promised", "clock", "reset", "--to-now")
	lines(w.ok("clock", "reset", "--to-now", "--accept"), `the ledger's clock was set back by (9 d 23 h|10 d), to 20\S+.*`)
	lines(w.ok("clock", "show"), `The ledger's clock is not ahead\.`)
	if got, err := w.get("first", "before"); err != nil || got != "bytes" {
		t.Errorf("read %q, %v", got, err)
	}
	w.clock.Advance(61 * time.Minute)
	w.ok("reclaim", "--once")
	if s := asked[api.Status](w, "status"); s.ClockBehind != 0 || s.Objects != 1 {
		t.Errorf("status says %+v", s)
	}
	w.ok("check")
}
