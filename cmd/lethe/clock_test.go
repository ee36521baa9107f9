package main

import (
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/admin"
)

// A clock that was ten days ahead leaves the ledger's ahead until an operator,
// who was told what that means, resets it.
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
	if s := asked[admin.Clock](w, "clock", "show"); s.Ahead < 239*3600 || s.Hidden != 1 || s.Longer != 1 || len(s.Others) != 0 {
		t.Errorf("the clock stands so: %+v", s)
	}
	if text := w.ok("clock", "show"); !strings.Contains(text, "9d23h") {
		t.Errorf("shown:\n%s", text)
	}
	w.fails("--to-now", "clock", "reset")
	w.fails("longer than told", "clock", "reset", "--to-now")
	w.ok("clock", "reset", "--to-now", "--accept")
	if got, err := w.get("first", "before"); err != nil || got != "bytes" {
		t.Errorf("read %q, %v", got, err)
	}
	w.clock.Advance(61 * time.Minute)
	w.ok("reclaim", "--once")
	if s := asked[admin.Status](w, "status"); s.ClockBehind != 0 || s.Objects != 1 {
		t.Errorf("status says %+v", s)
	}
	w.ok("check")
}
