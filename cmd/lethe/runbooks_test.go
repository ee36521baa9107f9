package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/meta"
)

var seriesLine = regexp.MustCompile(`(?m)^(lethe_\w+)(\{[^}]*\})? (\S+)$`)

// scrape is what a server exports, by series.
func (w *world) scrape() map[string]string {
	w.t.Helper()
	_, text := get(w.t, w.app.Addresses().Metrics+"/metrics")
	out := map[string]string{}
	for _, m := range seriesLine.FindAllStringSubmatch(text, -1) {
		labels := strings.Trim(m[2], "{}")
		if labels != "" {
			labels += ","
		}
		out[m[1]+"{"+labels+`instance="a:9002",job="lethe"}`] = m[3]
	}
	return out
}

// fires says whether an alert does over what a server exported: before for ten
// minutes, then after for an hour. Times are as long ago as they were for the
// server's clock.
func (w *world) fires(alert string, before, after map[string]string) bool {
	w.t.Helper()
	var b strings.Builder
	rules, err := filepath.Abs(alertRules)
	if err != nil {
		w.t.Fatal(err)
	}
	fmt.Fprintf(&b, "rule_files: [%q]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n", rules)
	for series, last := range after {
		first, known := before[series]
		if !known {
			first = last
		}
		if strings.Contains(series, "_timestamp_seconds") {
			first, last = w.ago(last), w.ago(last)
		}
		fmt.Fprintf(&b, "      - series: %s\n        values: %q\n", strconv.Quote(series), plainNumber(first)+"x10 "+plainNumber(last)+"x60")
	}
	fmt.Fprintf(&b, "    promql_expr_test:\n      - expr: 'count(ALERTS{alertname=%q,alertstate=\"firing\"})'\n        eval_time: 25m\n        exp_samples: []\n", alert)
	file := filepath.Join(w.t.TempDir(), "state_test.yaml")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		w.t.Fatal(err)
	}
	out, silent := promtoolSays(w.t, "test", "rules", file)
	if !silent && !strings.Contains(out, "got:") {
		w.t.Fatalf("promtool: %s", out)
	}
	return !silent
}

// plainNumber writes a value as promtool's notation has it, without an exponent.
func plainNumber(text string) string {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// ago puts an instant of the server's clock before promtool's zero.
func (w *world) ago(text string) string {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		w.t.Fatal(err)
	}
	return strconv.FormatFloat(f-float64(w.clock.Now())/1e6, 'f', -1, 64)
}

// fresh lets what a scrape has asked grow old.
func (w *world) fresh() { w.clock.Advance(10 * time.Second) }

// trial is an alert whose state is provoked, and whose runbook is followed.
type trial struct {
	alert    string
	settings []string
	provoke  func(*world)
	mend     func(*world)
}

// folderOf is where the only blob of a fresh store lies.
func (w *world) blobFile() string {
	w.t.Helper()
	var found string
	err := filepath.WalkDir(filepath.Join(w.dir, "blobs"), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.Contains(path, "epoch") && !strings.HasPrefix(d.Name(), ".") {
			found = path
		}
		return err
	})
	if err != nil || found == "" {
		w.t.Fatalf("no blob was found: %v", err)
	}
	return found
}

func (w *world) one(ttl string) {
	w.bucket("first")
	w.put("first", "a", "bytes that matter", ttl)
}

func trials() []trial {
	var blocked string
	return []trial{
		{"LetheDeadLetters", []string{"reclaim.grace.attempts=1"}, func(w *world) {
			w.one("")
			blocked = w.blobFile()
			stuck(w.t, blocked)
			w.remove("first", "a")
			w.clock.Advance(time.Hour)
			w.ok("reclaim", "--once", "--only", "clean")
			w.ok("dead", "list")
		}, func(w *world) {
			if err := os.Remove(filepath.Dir(blocked)); err != nil {
				w.t.Fatal(err)
			}
			w.ok("dead", "requeue", "--all")
			w.ok("reclaim", "--once", "--only", "clean")
		}},
		{"LetheUnresolvedIntents", []string{"reclaim.reap.enabled=true", "reclaim.reap.schedule=every 24h", "reclaim.reap.batch=1"}, func(w *world) {
			for range 3 {
				id := lethe.RandomID(w.clock.Now())
				if _, err := w.app.Ledger.Begin(context.Background(), meta.Intent{ID: id, Backend: "main", Size: 10}); err != nil {
					w.t.Fatal(err)
				}
			}
			w.clock.Advance(time.Hour)
		}, func(w *world) { w.ok("reclaim", "--once", "--only", "reap") }},
		{"LetheOldestDueTooOld", nil, func(w *world) {
			w.one("1m")
			w.clock.Advance(time.Hour)
		}, func(w *world) { w.ok("reclaim", "--once", "--only", "expire") }},
		{"LetheDeletionsStopped", []string{"reclaim.guards.ttl.ask=3"}, func(w *world) {
			w.bucket("first")
			for _, key := range []string{"a", "b", "c", "d", "e"} {
				w.put("first", key, "bytes "+key, "1h")
			}
			w.clock.Advance(2 * time.Hour)
			w.ok("reclaim", "--once", "--only", "expire")
		}, func(w *world) { w.ok("guard", "allow", "ttl", "first") }},
		{"LetheOrphanBytesNearQuota", []string{"backends=[{name: main, kind: dir, path: blobs, quota: 50B}]"}, func(w *world) {
			w.one("")
			w.remove("first", "a")
		}, func(w *world) {
			w.clock.Advance(time.Hour)
			w.ok("reclaim", "--once", "--only", "clean")
		}},
	}
}

// doubts are trials of what must not be trusted.
func doubts() []trial {
	return []trial{
		{"LetheBackendHeld", nil, func(w *world) { w.ok("backend", "hold", "main", "--reason", "a trial") },
			func(w *world) { w.ok("backend", "accept", "main") }},
		{"LetheBackendClockInDoubt", nil, func(w *world) {
			if _, err := w.app.Ledger.DoubtClock(context.Background(), "main", "its clock is an hour ahead"); err != nil {
				w.t.Fatal(err)
			}
		}, func(w *world) {
			w.stop()
			w.start()
		}},
		{"LetheRoutineWithoutSuccess", []string{"reclaim.clean.enabled=true", "reclaim.clean.schedule=every 24h"},
			func(w *world) { w.clock.Advance(72 * time.Hour) },
			func(w *world) { w.ok("reclaim", "--once", "--only", "clean") }},
		{"LetheProblemsFound", nil, func(w *world) {
			w.one("")
			if err := os.Remove(w.blobFile()); err != nil {
				w.t.Fatal(err)
			}
			w.lethe("check")
		}, func(w *world) {
			w.remove("first", "a")
			w.clock.Advance(2 * time.Hour)
			w.ok("reclaim", "--once", "--only", "clean")
			w.stop()
			w.start()
			w.ok("check")
		}},
		{"LetheStaleClaims", nil, func(w *world) {
			w.one("")
			w.remove("first", "a")
			w.clock.Advance(time.Hour)
			if _, err := w.app.Ledger.ClaimCondemned(context.Background(), meta.ClaimRequest{Worker: "dead", Backend: "main", Limit: 1}); err != nil {
				w.t.Fatal(err)
			}
			w.clock.Advance(time.Hour)
			w.ok("reclaim", "--once", "--only", "watch")
		}, nil},
		{"LetheClockInDoubt", nil, func(w *world) {
			w.clock.Advance(24 * time.Hour)
			w.bucket("first")
			w.stop()
			w.clock.Advance(-24 * time.Hour)
			w.start()
		}, func(w *world) { w.ok("clock", "reset", "--to-now") }},
	}
}

// Each alert fires over what a real server exports in the state that it is about,
// and no more once its runbook was followed.
func TestRunbooks(t *testing.T) {
	for _, c := range append(trials(), doubts()...) {
		t.Run(c.alert, func(t *testing.T) {
			w := newWorld(t, c.settings...).start()
			well := w.scrape()
			if w.fires(c.alert, well, well) {
				t.Error("it fires where all is well")
			}
			w.fresh()
			c.provoke(w)
			w.fresh()
			bad := w.scrape()
			if !w.fires(c.alert, well, bad) {
				t.Fatalf("it does not fire over %v", bad)
			}
			if c.mend == nil {
				return
			}
			c.mend(w)
			w.fresh()
			good := w.scrape()
			if w.fires(c.alert, good, good) {
				t.Error("it fires after its runbook was followed")
			}
		})
	}
}
