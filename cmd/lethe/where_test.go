package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/admin/api"
)

// contains checks that an output has each of the texts.
func contains(t *testing.T, what, out string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(out, text) {
			t.Errorf("%s lacks %q:\n%s", what, text, out)
		}
	}
}

// leaky is a store with objects that end and others that do not.
func leaky(t *testing.T) *world {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "logs/2031/a", strings.Repeat("a", 3000), "2d")
	w.put("first", "logs/2031/b", strings.Repeat("a", 3000), "")
	w.put("first", "logs/2032/c", "c", "")
	w.put("first", "x", "other", "40d")
	return w
}

// Where bytes are, what never ends and what grows is found with two commands.
func TestUsageShowsALeak(t *testing.T) {
	w := leaky(t)
	w.bucket("second")
	contains(t, "usage", w.ok("usage"), "first", "second", "5.9 KiB", "2.9 KiB", "now", "lethe usage s3://first")
	out := w.ok("usage", "s3://first")
	contains(t, "usage of a bucket", out, "s3://first/: 4 objects, 5.9 KiB, counted just now", "without end  2 objects, 2.9 KiB (50 %)", "growth       known once there is a count to compare with", "logs/  ", "below 4.0 KiB", "below 1d")
	contains(t, "usage of a prefix", w.ok("usage", "s3://first/logs/"), "logs/2031/", "logs/2032/", "3 objects")
	w.ok("usage", "--refresh")
	w.clock.Advance(2 * time.Hour)
	w.put("first", "logs/2032/d", strings.Repeat("d", 9000), "")
	contains(t, "growth", w.ok("usage", "s3://first", "--sort", "growth", "--depth", "2"), "growth       +8.8 KiB, +1 object since", "+8.8 KiB in 2 h", "+0 B in 2 h")
	var u api.Usage
	if err := json.Unmarshal([]byte(w.ok("usage", "s3://first", "--json")), &u); err != nil || u.Objects != 5 || u.Growth == nil {
		t.Errorf("%+v, %v", u, err)
	}
	w.fails("no such bucket", "usage", "s3://nowhere")
	w.fails("write s3://bucket", "usage", "first/logs")
	w.fails("use bytes, objects, growth, age or without-end", "usage", "--sort", "name")
}

// Growth is measured from the first count, however soon the others are made.
func TestGrowthIsSinceTheFirstCount(t *testing.T) {
	w := leaky(t)
	contains(t, "without a count", w.ok("usage", "s3://first", "--sort", "growth"), "no growth is known yet, so they are sorted by bytes")
	contains(t, "without a count", w.ok("usage", "--sort", "growth"), "no growth is known yet, so they are sorted by bytes")
	before := stamp(w.clock.Now().Time())
	contains(t, "after one", w.ok("usage", "s3://first", "--refresh"), "growth       known from the second count on; this counts again: lethe usage --refresh")
	first := stamp(w.clock.Now().Time())
	for i := range 3 { // within the hour
		w.clock.Advance(time.Minute)
		w.put("first", "logs/2032/d"+strings.Repeat("d", i), strings.Repeat("d", 1024), "")
		out := w.ok("usage", "s3://first", "--refresh")
		contains(t, "after another", out, fmt.Sprintf("growth       +%d.0 KiB, +%d object", i+1, i+1))
		if !strings.Contains(out, "since "+before) && !strings.Contains(out, "since "+first) {
			t.Errorf("after another: not since %s or %s:\n%s", before, first, out)
		}
	}
}

// What goes on which day, and which limit would stop it.
func TestForecastShowsWhatGoes(t *testing.T) {
	w := leaky(t)
	out := w.ok("forecast", "--days", "10")
	contains(t, "forecast", out, "time to live in first: 1", "together", "later: 1 object, 5 B; without an end: 2 objects, 2.9 KiB; counted just now")
	contains(t, "forecast of a bucket", w.ok("forecast", "s3://first", "--days", "1"), "nothing goes within 1 day\n")
	contains(t, "forecast of a prefix", w.ok("forecast", "s3://first/logs/"), "time to live in first: 1", "later: 0 objects, 0 B; without an end: 2 objects, 2.9 KiB; counted just now", "to keep some:  lethe hold add s3://first/prefix/")
	contains(t, "forecast of a prefix without an end", w.ok("forecast", "s3://first/logs/2032/"), "nothing goes within 30 days\n")
	w.clock.Advance(3 * 24 * time.Hour)
	contains(t, "forecast", w.ok("forecast"), "due already")
	contains(t, "what is due", w.ok("forecast", "--day", "due"), "ENDS", "time to live", "s3://first/logs/2031/a")
	later := w.clock.Now().Time().AddDate(0, 0, 37).Format("2006-01-02")
	contains(t, "a day", w.ok("forecast", "s3://first", "--day", later, "--by", "ttl"), later, "5 B", "s3://first/x")
	contains(t, "another day", w.ok("forecast", "--day", later, "--by", "rule"), "nothing goes then\n")
	var rows api.ForecastRows
	if err := json.Unmarshal([]byte(w.ok("forecast", "--day", later, "--json")), &rows); err != nil || len(rows.Rows) != 1 || rows.More {
		t.Errorf("%+v, %v", rows, err)
	}
	w.fails("is no day", "forecast", "--day", "someday")
	w.fails("add --day", "forecast", "--by", "ttl")
	w.fails("use ttl, read, idle, rule, undo or abort", "forecast", "--day", "due", "--by", "chance")
	w.fails("use 1 to 90", "forecast", "--days", "91")
}

// A day has names, too.
func TestForecastOfTomorrow(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "a", "24h")
	contains(t, "tomorrow", w.ok("forecast", "--day", "tomorrow"), "s3://first/a")
	contains(t, "today", w.ok("forecast", "--day", "today"), "nothing goes then\n")
	now := time.Date(2031, 1, 1, 23, 0, 0, 0, time.UTC) // a Wednesday
	for text, want := range map[string]string{
		"today": "2031-01-01", "Tomorrow": "2031-01-02", "fri": "2031-01-03", "wednesday": "2031-01-08", "2031-02-03": "2031-02-03", "day": "", "2031-02-30": "",
	} {
		if day, known := dayNamed(text, now); known != (want != "") || known && day.Format(time.DateOnly) != want {
			t.Errorf("%s is %s, %t", text, day, known)
		}
	}
}

// A forecast separates what ends from what a limit keeps, and says how to let that go.
func TestForecastSaysWhatALimitKeeps(t *testing.T) {
	w := newWorld(t, "reclaim.limits.ttl.ask=1").start()
	w.bucket("first")
	for _, k := range []string{"a", "b", "c"} {
		w.put("first", k, k, "1h")
	}
	w.clock.Advance(2 * time.Hour)
	contains(t, "forecast", w.ok("forecast"), "due already: a limit keeps 3 of the 3 due in first, of objects whose time to live ends (limit ttl): at least 3 ",
		"more than 1 (ask) go within an hour only if a person allows it", "allows it\n  to let them go, now: lethe limits allow ttl first",
		"time to live in first: 3; of which 3 stay for a limit", "together")
}

func TestListAndDu(t *testing.T) {
	w := leaky(t)
	contains(t, "ls", w.ok("ls"), "s3://first", "5.9 KiB")
	out := w.ok("ls", "s3://first")
	contains(t, "ls of a bucket", out, "logs/\n", "5 B", "ttl")
	if strings.Contains(out, "2031") {
		t.Errorf("what is below a prefix is listed:\n%s", out)
	}
	contains(t, "ls of a prefix", w.ok("ls", "s3://first/logs/", "-r"), "logs/2031/a\n", "logs/2032/c\n")
	code, out, errs := w.lethe("ls", "s3://first", "--recursive", "--limit", "2")
	if code != 0 || strings.Count(out, "\n") != 3 || !strings.Contains(errs, "--all") {
		t.Errorf("a limit of two: %d\n%s%s", code, out, errs)
	}
	contains(t, "ls of everything", w.ok("ls", "s3://first", "-r", "--all"), "logs/2031/a\n", "x\n")
	contains(t, "du", w.ok("du"), "total", "s3://first")
	contains(t, "du of a bucket", w.ok("du", "s3://first", "--depth", "2"), "s3://first/logs/2031/\n", "s3://first/logs/\n", "s3://first/\n")
	contains(t, "du of a prefix", w.ok("du", "s3://first/logs/2032/"), "1 B", "s3://first/logs/2032/\n")
}
