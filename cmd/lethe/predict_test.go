package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/admin/api"
)

// verdict returns what explain says of a key of the first bucket.
func (w *world) verdict(key string) string {
	w.t.Helper()
	return asked[api.Explanation](w, "explain", "s3://first/"+key).Verdict
}

// says fails unless explain's sentence has these words.
func (w *world) says(when, key string, want ...string) {
	w.t.Helper()
	got := w.verdict(key)
	for _, words := range want {
		if !strings.Contains(got, words) {
			w.t.Errorf("%s, explain says of %s: %s; want %q", when, key, got, words)
		}
	}
}

// expires returns how many objects a dry run says that expire takes, and keeps.
func (w *world) expires() string {
	w.t.Helper()
	r := asked[api.DryRun](w, "reclaim", "--dry-run", "--only", "expire").Routines[0]
	return fmt.Sprintf("takes %d, stays %d", r.Takes.Items, r.Stays.Items)
}

// rules sets the rules of the first bucket.
func (w *world) rules(text string) {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "rules.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.ok("lifecycle", "set", "first", file)
}

// Rules count from the moment they are set, whether they are applied to an object or not:
// explain, a dry run and a simulation name the same end, and a run keeps to it.
func TestPredictionsAskTheRulesInForce(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "logs/a", "bytes", "")
	w.put("first", "b", "bytes", "48h")
	w.says("before there are rules", "logs/a", "no rule ends it")
	w.rules(`{"Rules":[{"ID":"logs","Filter":{"Prefix":"logs/"},"Status":"Enabled","Expiration":{"Days":1}}]}`)
	w.says("once rules are set", "logs/a", "here until", `lifecycle rule "logs" ends it`)
	sim := asked[api.Simulation](w, "lifecycle", "simulate", "first")
	if sim.Rules[0].Days.Objects != 1 || sim.TTL.Days.Objects != 1 || sim.TTL.Examples[0].Key != "b" {
		t.Errorf("simulated %+v", sim)
	}
	w.clock.Advance(72 * time.Hour)
	w.says("after its end", "logs/a", `lifecycle rule "logs" ended it`, "clients still see it", "stay, as the rule is not applied to it yet")
	if got := w.expires(); got != "takes 2, stays 0" {
		t.Errorf("a dry run says %s", got)
	}
	w.reclaimed("buckets", 1, "lifecycle")
	if got := w.expires(); got != "takes 2, stays 0" {
		t.Errorf("once the rules are applied, a dry run says %s", got)
	}
	w.says("once the rules are applied", "logs/a", `lifecycle rule "logs" ended it`, "the next expire run removes the row")
	w.reclaimed("objects", 2, "expire")
	w.says("after the run", "logs/a", "not here", `lifecycle rule "logs"`)
}

// What a limit stops is said to stay before the limit has tripped and after, by explain, by a
// dry run and by the question that allows it.
func TestPredictionsAskTheLimits(t *testing.T) {
	w := newWorld(t, "reclaim.limits.ttl.ask=1").start()
	w.bucket("first")
	for i := range 3 {
		w.put("first", fmt.Sprint("k", i), fmt.Sprint("body ", i), "1h")
	}
	w.clock.Advance(2 * time.Hour)
	for _, when := range []string{"before it has tripped", "once it has tripped"} {
		w.says(when, "k1", "its time to live ended", "clients see nothing", "stay, as the limit ttl keeps it", "more than 1 (ask)")
		if got := w.expires(); got != "takes 0, stays 3" {
			t.Errorf("%s, a dry run says %s", when, got)
		}
		if out := w.ok("explain", "s3://first/k1"); !strings.Contains(out, "limits allow ttl first") {
			t.Errorf("%s, explain does not name the next command:\n%s", when, out)
		}
		w.reclaimed("objects", 0, "expire")
	}
	shown := newScreen(t)
	run(context.Background(), w.args("limits", "allow", "ttl", "first"), streams{terminal(t, "n\n"), io.Discard, shown.file})
	if text := shown.read(); !strings.Contains(text, "3 items of 18 B") {
		t.Errorf("asked %s", text)
	}
	w.ok("limits", "allow", "ttl", "first")
	w.says("once it is allowed", "k1", "the next expire run removes the row")
	if got := w.expires(); got != "takes 3, stays 0" {
		t.Errorf("once it is allowed, a dry run says %s", got)
	}
	w.reclaimed("objects", 3, "expire")
}

// An object without a sound copy is said to be damaged, not to be here.
func TestExplainTellsOfMissingBytes(t *testing.T) {
	w := newWorld(t).start()
	w.one("48h")
	if err := os.Remove(w.blobFile()); err != nil {
		t.Fatal(err)
	}
	w.finds("lost", "reconcile")
	w.says("once its bytes are lost", "a", "damaged: no sound copy of its bytes is known", "here until")
}

// What went is said to wait for its bytes, with the attempts, the last error, the next try or
// what stops it.
func TestExplainTellsOfFailingDeletes(t *testing.T) {
	w := newWorld(t).start()
	w.one("1h")
	stuck(t, w.blobFile())
	w.clock.Advance(2 * time.Hour)
	w.reclaimed("objects", 1, "expire")
	w.clock.Advance(quietTime + time.Minute)
	w.ok("reclaim", "--once", "--only", "clean")
	w.says("after an attempt", "a", "not here", "its bytes are still to be deleted: 1 blob, 1 attempt failed, the last with: ", "; due at ")
	w.ok("backend", "hold", "main", "--reason", "a look at the disk")
	w.says("while deletes are stopped", "a", "deletes on main are stopped: a look at the disk")
}

// A dry run of clean shows what a held backend and the limit on deletes keep, and a run keeps
// to it.
func TestPredictionsOfDeletes(t *testing.T) {
	w := newWorld(t, "reclaim.limits.deletes.ask=1", "reclaim.grace.read_grace=1s").start()
	w.bucket("first")
	for i := range 3 {
		w.put("first", fmt.Sprint("k", i), fmt.Sprint("body ", i), "")
		w.remove("first", fmt.Sprint("k", i))
	}
	w.clock.Advance(quietTime + time.Minute)
	cleans := func() string {
		r := asked[api.DryRun](w, "reclaim", "--dry-run", "--only", "clean").Routines[0]
		return fmt.Sprintf("takes %d, stays %d", r.Takes.Items, r.Stays.Items)
	}
	w.ok("backend", "hold", "main", "--reason", "a look at the disk")
	if got := cleans(); got != "takes 0, stays 3" {
		t.Errorf("while deletes are held, a dry run says %s", got)
	}
	w.ok("backend", "accept", "main")
	w.clock.Advance(quietTime + time.Minute)
	if got := cleans(); got != "takes 1, stays 2" {
		t.Errorf("with a limit, a dry run says %s", got)
	}
	w.reclaimed("gone", 1, "clean")
	if got := cleans(); got != "takes 0, stays 2" {
		t.Errorf("once it has tripped, a dry run says %s", got)
	}
}

// An object whose time to live has passed goes by that, whatever rule would have ended it
// earlier, and under that limit; of one that lets some go it is said how many.
func TestExplainNamesTheLimitThatCounts(t *testing.T) {
	w := newWorld(t, "reclaim.limits.ttl.per_hour=2").start()
	w.bucket("first")
	for i := range 3 {
		w.put("first", fmt.Sprint("k", i), fmt.Sprint("body ", i), "72h")
	}
	w.rules(`{"Rules":[{"ID":"all","Filter":{"Prefix":"k"},"Status":"Enabled","Expiration":{"Days":1}}]}`)
	w.clock.Advance(96 * time.Hour)
	w.says("past both ends", "k0", "its time to live ended", "the next expire run removes 2 of the 3 that are due like it", "no more than 2 may in one (per_hour)")
	if got := w.expires(); got != "takes 2, stays 1" {
		t.Errorf("a dry run says %s", got)
	}
	w.reclaimed("objects", 2, "expire")
}

// Rules that are not applied yet end nothing before lifecycle has run, which goes first.
func TestRulesAreAppliedBeforeTheyRemove(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "logs/a", "bytes", "")
	w.clock.Advance(72 * time.Hour)
	w.rules(`{"Rules":[{"ID":"logs","Filter":{"Prefix":"logs/"},"Status":"Enabled","Expiration":{"Days":1}}]}`)
	w.says("before lifecycle has run", "logs/a", "stay, as the rule is not applied to it yet")
	if out := w.ok("reclaim", "--dry-run", "--only", "expire"); !strings.Contains(out, "rule logs, once lifecycle has applied it") {
		t.Errorf("a dry run says\n%s", out)
	}
	w.ok("reclaim", "--once", "--only", "expire,lifecycle")
	w.says("after both", "logs/a", "not here")
}

// A simulation counts what is due already, and the question before rules are set leaves disabled
// ones out.
func TestSimulationCountsWhatIsDue(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "bytes", "1h")
	w.put("first", "b", "other", "")
	w.clock.Advance(2 * time.Hour)
	if sim := asked[api.Simulation](w, "lifecycle", "simulate", "first"); sim.TTL.Today.Objects != 1 {
		t.Errorf("what is due already is simulated as %+v", sim.TTL)
	}
	file := filepath.Join(t.TempDir(), "rules.json")
	text := `{"Rules":[{"ID":"off","Filter":{"Prefix":"b"},"Status":"Disabled","Expiration":{"Days":1}},
		{"ID":"on","Filter":{"Prefix":"b"},"Status":"Enabled","Expiration":{"Days":2}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, end := w.planned("lifecycle", "set", "first", file); !strings.Contains(end.Totals.Groups[0].Why, "1 rule would end 0 objects today, 1 within 30 days") {
		t.Errorf("planned: %s", end.Totals.Groups[0].Why)
	}
}

// A number below the least one is a usage error, not a question with a strange answer.
func TestNumbersHaveALeast(t *testing.T) {
	for flag, command := range map[string]string{
		"depth": "usage --depth -1", "limit": "usage s3://first --limit -1", "count": "limits allow ttl first --count -5",
		"days": "lifecycle simulate first --days 0",
	} {
		code, _, errs := newWorld(t).lethe(strings.Fields(command)...)
		if code != exitUsage || !strings.Contains(errs, flag) || !strings.Contains(errs, " or more") {
			t.Errorf("lethe %s: exit code %d, %s", command, code, errs)
		}
	}
}
