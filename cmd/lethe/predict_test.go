package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

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
	if out := w.ok("explain", "s3://first/a"); !regexp.MustCompile(`(?m)^  blob .* on main: condemned, due \d+ \S+ ago$`).MatchString(out) {
		t.Errorf("of bytes that are due and lie there explain says\n%s", out)
	}
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

// dry returns what a dry run says that a routine takes and keeps, and its text.
func (w *world) dry(routine string) (counts, text string) {
	w.t.Helper()
	r := asked[api.DryRun](w, "reclaim", "--dry-run", "--only", routine).Routines[0]
	return fmt.Sprintf("takes %d, stays %d", r.Takes.Items, r.Stays.Items), w.ok("reclaim", "--dry-run", "--only", routine)
}

// Of what a limit has set aside the oldest go first, whatever their names.
func TestPredictionsGoByAge(t *testing.T) {
	w := newWorld(t, "reclaim.limits.ttl.ask=1").start()
	w.bucket("first")
	for i, key := range []string{"z", "m", "a"} {
		w.put("first", key, "body "+key, fmt.Sprintf("%dm", 10+i))
	}
	w.clock.Advance(2 * time.Hour)
	w.reclaimed("objects", 0, "expire")
	w.ok("limits", "allow", "ttl", "first", "--count", "1", "--yes")
	w.says("with an allowance for one", "z", "the next expire run removes 1 of the 3 that are due like it, this one among them")
	w.says("with an allowance for one", "a", "stay, as the limit ttl keeps it", "the next expire run removes 1 of the 3 that are due like it, the oldest")
	w.reclaimed("objects", 1, "expire")
	w.says("after the run", "z", "not here")
	w.says("after the run", "m", "stay, as the limit ttl keeps it")
}

// Explain says of trash that is due what a dry run says.
func TestExplainTellsWhatKeepsTrash(t *testing.T) {
	w := newWorld(t, "reclaim.limits.purge.ask=1").start()
	w.bucket("first")
	w.ok("buckets", "set", "first", "--undo", "1h")
	for _, key := range []string{"a", "b"} {
		w.put("first", key, "body "+key, "")
		w.remove("first", key)
	}
	w.says("within its undo window", "a", "1 earlier version is in the trash, and bytes stay until a restore or purge")
	w.ok("hold", "add", "s3://first/a", "--reason", "a lawsuit")
	w.clock.Advance(2 * time.Hour)
	for _, when := range []string{"before purge has set it aside", "once it is set aside"} {
		w.says(when, "a", "1 is due and stays, as a hold keeps it")
		if out := w.ok("explain", "s3://first/a"); !strings.Contains(out, "due for purge since ") || !strings.Contains(out, "; it stays, as a hold keeps it") {
			t.Errorf("%s, explain says\n%s", when, out)
		}
		if when == "before purge has set it aside" {
			w.says(when, "b", "purge removes 1 now")
			w.reclaimed("objects", 1, "purge")
		}
	}
	w.put("first", "c", "c", "")
	w.put("first", "d", "d", "")
	w.remove("first", "c")
	w.remove("first", "d")
	w.clock.Advance(2 * time.Hour)
	w.says("beyond a limit", "c", "1 is due and stays, as the limit purge keeps it")
	if out := w.ok("explain", "s3://first/c"); !strings.Contains(out, "limits allow purge") {
		t.Errorf("explain does not name the next command:\n%s", out)
	}
	if got, text := w.dry("purge"); got != "takes 0, stays 3" {
		t.Errorf("a dry run says %s\n%s", got, text)
	}
	w.reclaimed("objects", 0, "purge")
}

// While the clock is in doubt nothing goes by age, and no prediction says that something does.
func TestPredictionsDoubtTheClock(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.ok("buckets", "set", "first", "--undo", "1h")
	w.put("first", "a", "bytes", "1h")
	w.put("first", "b", "bytes", "")
	w.remove("first", "b")
	w.clock.Advance(4 * time.Hour)
	w.put("first", "c", "bytes", "") // records the time
	w.clock.Advance(-time.Hour)
	for _, routine := range []string{"expire", "purge"} {
		if got, text := w.dry(routine); got != "takes 0, stays 1" || !strings.Contains(text, "nothing is removed by age until it has caught up") {
			t.Errorf("a dry run of %s says %s:\n%s", routine, got, text)
		}
		w.fails("nothing is removed by age", "reclaim", "--once", "--only", routine)
	}
	w.says("with a clock that ran back", "a", "stay, as the machine's clock is 1h0m", "nothing is removed by age")
	w.says("with a clock that ran back", "b", "is due and stays, as the machine's clock is")
	if out := w.ok("forecast"); !strings.Contains(out, "nothing is removed by age") {
		t.Errorf("a forecast says\n%s", out)
	}
}

// Of a run that ends at a number, every command says that it takes at least so many, whatever its
// workers and batches are, and it does.
func TestPredictionsEndWithTheRun(t *testing.T) {
	for _, c := range []struct{ batch, workers int }{{2, 1}, {1, 3}, {2, 3}} {
		w := newWorld(t, "reclaim.limits.per_run.expire=3", fmt.Sprint("reclaim.expire.batch=", c.batch), fmt.Sprint("reclaim.expire.workers=", c.workers)).start()
		w.bucket("first")
		for i := range 20 {
			w.put("first", fmt.Sprintf("k%02d", i), fmt.Sprint("body ", i), "1h")
		}
		w.clock.Advance(2 * time.Hour)
		said := "one run takes at least 3 of what is due (reclaim.limits.per_run); the rest waits for the next"
		got, text := w.dry("expire")
		if got != "takes 3, stays 17" || !strings.Contains(text, "STAYS, as "+said) || !strings.Contains(text, "at least 3 ") || !strings.Contains(text, "at most 17 ") {
			t.Errorf("%+v: a dry run says %s:\n%s", c, got, text)
		}
		if d := asked[api.DryRun](w, "reclaim", "--dry-run", "--only", "expire").Routines[0]; !d.AtLeast {
			t.Errorf("%+v: a dry run says %+v", c, d)
		}
		w.says("of a run with a limit", "k05", "expire removes the row; "+said)
		w.ok("reclaim", "--once", "--only", "expire")
		if took := 20 - asked[api.ForecastResult](w, "forecast").Days[0].Objects; took < 3 || took > int64(2+c.workers*c.batch) {
			t.Errorf("%+v: a run took %d of 20", c, took)
		}
	}
}

// due returns what a forecast says of what is due already: its rows, and what limits keep.
func (w *world) due(args ...string) string {
	w.t.Helper()
	f := asked[api.ForecastResult](w, append([]string{"forecast"}, args...)...)
	if len(f.Days) == 0 || !f.Days[0].Day.IsZero() {
		return "nothing"
	}
	text := fmt.Sprintf("%d due, %d held", f.Days[0].Objects, f.Days[0].Held.Objects)
	for _, l := range f.Days[0].Limits {
		text += fmt.Sprintf("; %s %s lets %d of %d go", l.Kind, l.Bucket, l.Goes, l.Due)
	}
	return text
}

// A forecast says of what is due already what a dry run says: of the trash of all buckets, those
// that were deleted too, and of held objects, which their limit counts until they are set aside.
func TestForecastAsksTheLimits(t *testing.T) {
	w := newWorld(t, "reclaim.limits.purge.ask=2", "reclaim.purge.batch=1", "reclaim.limits.ttl.ask=3").start()
	for _, bucket := range []string{"first", "second"} {
		w.bucket(bucket)
		w.ok("buckets", "set", bucket, "--undo", "1h")
		for i := range 2 {
			w.put(bucket, fmt.Sprint("k", i), "body", "")
			w.remove(bucket, fmt.Sprint("k", i))
		}
	}
	if _, err := w.s3("", "").DeleteBucket(t.Context(), &awss3.DeleteBucketInput{Bucket: aws.String("second")}); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		w.put("first", fmt.Sprint("o", i), "body", "1h")
	}
	if f := asked[api.ForecastResult](w, "forecast"); f.Days[0].Objects != 8 {
		t.Errorf("before it is due: %+v", f.Days)
	}
	w.ok("hold", "add", "s3://first/o1")
	w.bucket("third")
	w.put("third", "gone", "body", "1h")
	w.clock.Advance(2 * time.Hour)
	if _, err := w.s3("", "").DeleteBucket(t.Context(), &awss3.DeleteBucketInput{Bucket: aws.String("third")}); err != nil {
		t.Fatal(err)
	}
	purge, _ := w.dry("purge")
	if got := w.expires() + "; " + purge; got != "takes 1, stays 4; takes 2, stays 2" {
		t.Errorf("a dry run: %s", got)
	}
	if got := w.due(); got != "8 due, 1 held; purge  lets 2 of 4 go; ttl first lets 0 of 3 go" {
		t.Errorf("a forecast: %s", got)
	}
	if got := w.due("s3://first"); got != "5 due, 1 held; purge  lets 2 of 4 go; ttl first lets 0 of 3 go" {
		t.Errorf("a forecast of one bucket: %s", got)
	}
	w.reclaimed("objects", 2, "purge")
	w.reclaimed("objects", 1, "expire")
	if got := w.due(); got != "5 due, 1 held; purge  lets 0 of 2 go; ttl first lets 0 of 3 go" {
		t.Errorf("after the runs: %s", got)
	}
}

// What a hold keeps would end, and every command says so: explain, the time to live, and the
// numbers of status and of a forecast.
func TestHoldsAreSaidWithTheEnd(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	for _, key := range []string{"held", "free"} {
		w.put("first", key, "body", "48h")
	}
	later := func() int64 {
		for _, r := range asked[api.Status](w, "status").Routines {
			if r.Name == "expire" {
				return r.Backlog.Scheduled
			}
		}
		return -1
	}
	goes := func() (n int64) {
		for _, d := range asked[api.ForecastResult](w, "forecast").Days {
			n += d.Objects
		}
		return n
	}
	if later() != 2 || goes() != 2 {
		t.Errorf("without a hold, status says %d and a forecast %d", later(), goes())
	}
	contains(t, "a time to live", w.ok("ttl", "show", "s3://first/held"), "s3://first/held ends ")
	w.ok("hold", "add", "s3://first/held")
	if later() != 1 || goes() != 1 {
		t.Errorf("with a hold, status says %d and a forecast %d", later(), goes())
	}
	contains(t, "a time to live", w.ok("ttl", "show", "s3://first/held"), "s3://first/held would end ", "; a hold keeps it")
	w.says("with a hold", "held", "it is held", "clients see it until ")
}
