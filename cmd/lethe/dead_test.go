package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// letters makes dead letters of objects a and b of bucket first, the second
// larger, and returns them.
func (w *world) letters() []api.DeadInfo {
	w.t.Helper()
	w.bucket("first")
	w.bucket("empty")
	w.put("first", "a", "bytes of a", "")
	w.put("first", "b", strings.Repeat("bytes of b ", 100), "")
	for _, path := range w.blobs() {
		stuck(w.t, path)
	}
	w.remove("first", "a")
	w.remove("first", "b")
	w.clock.Advance(time.Minute)
	w.reclaimed("dead", 2, "clean")
	list := asked[[]api.DeadInfo](w, "dead", "list")
	if len(list) != 2 || list[0].Bucket != "first" || list[1].Size != 1100 {
		w.t.Fatalf("the dead letters are %+v", list)
	}
	return list
}

func TestDeadFilters(t *testing.T) {
	w := newWorld(t, "reclaim.grace.attempts=1").start()
	list := w.letters()
	for args, want := range map[string]int{
		"--bucket first": 2, "--bucket empty": 0, "--min-age 30s": 2, "--min-age 1h": 0, "--min-size 1KiB": 1, "--min-size 1MiB": 0,
		"--error no-such-text": 0, "--backend main --reason delete --bucket first --min-size 1000": 1, "--limit 1": 1,
		"--after " + list[0].ID: 1,
	} {
		if got := asked[[]api.DeadInfo](w, append([]string{"dead", "list"}, strings.Fields(args)...)...); len(got) != want {
			t.Errorf("%s lists %d, want %d", args, len(got), want)
		}
	}
	if got := asked[[]api.DeadInfo](w, "dead", "list", "--error", list[0].LastError); len(got) == 0 {
		t.Errorf("%q is not found", list[0].LastError)
	}
	w.fails("no such bucket", "dead", "list", "--bucket", "nowhere")
	w.fails("min_age", "dead", "list", "--min-age", "soon")
	w.fails("--min-size", "dead", "list", "--min-size", "big")
	w.fails("not both", "dead", "requeue", list[0].ID, "--bucket", "first")
}

func TestDeadShowAndExport(t *testing.T) {
	w := newWorld(t, "reclaim.grace.attempts=1").start()
	list := w.letters()
	d := asked[api.DeadDetail](w, "dead", "show", list[0].ID)
	if d.DeadInfo != list[0] || d.Attempts != 1 || d.DiedAt.IsZero() || d.LastError == "" || d.Content == "" || !strings.Contains(d.Planned, "nothing by itself") {
		t.Errorf("shown as %+v", d)
	}
	if text := w.ok("dead", "show", list[1].ID); !strings.Contains(text, "last error") || !strings.Contains(text, "1,100 bytes") {
		t.Errorf("shown as\n%s", text)
	}
	var first api.DeadInfo
	lines := strings.Split(strings.TrimSpace(w.ok("dead", "export")), "\n")
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil || len(lines) != 2 || first != list[0] {
		t.Errorf("exported as %+v, %v", first, err)
	}
	rows, err := csv.NewReader(strings.NewReader(w.ok("dead", "export", "--format", "csv", "--min-size", "1KiB"))).ReadAll()
	if err != nil || len(rows) != 2 || len(rows[0]) != len(rows[1]) || rows[1][0] != list[1].ID || rows[1][len(rows[1])-1] != list[1].LastError {
		t.Errorf("exported as %q, %v", rows, err)
	}
	w.fails("jsonl or csv", "dead", "export", "--format", "xml")
	w.ok("dead", "requeue", list[0].ID)
	w.fails("is condemned", "dead", "show", list[0].ID)
	w.fails("no row", "dead", "show", string(lethe.RandomID(w.clock.Now())))
}

// A plan changes what it names; a dry run changes nothing.
func TestDeadPlans(t *testing.T) {
	w := newWorld(t, "reclaim.grace.attempts=1").start()
	list := w.letters()
	if text := w.ok("dead", "write-off", "--bucket", "first", "--dry-run"); !strings.Contains(text, "attempt failed") {
		t.Errorf("a dry run shows\n%s", text)
	}
	path, end := w.planned("dead", "write-off", "--min-size", "1KiB")
	again, both := w.planned("dead", "requeue", "--all")
	if end.Totals.Items != 1 || both.Totals.Items != 2 {
		t.Fatalf("planned %+v, %+v", end.Totals, both.Totals)
	}
	w.state("dead", 2)
	if res := w.applied(path); res.Done.Items != 1 {
		t.Fatalf("applied %+v", res)
	}
	w.state("dead", 1)
	if res := w.applied(again); res.Done.Items != 1 || res.Outcomes[plan.Gone] != 1 {
		t.Fatalf("applied %+v", res)
	}
	w.state("condemned", 1)
	w.fails("is condemned", "dead", "show", list[0].ID)
}

// A blob that is written off although its bytes exist is an orphan for
// reconcile, which deletes it after two walks.
func TestWrittenOffBlobsBecomeOrphans(t *testing.T) {
	w := newWorld(t, "reclaim.grace.attempts=1").start()
	list := w.letters()
	if text := w.ok("dead", "write-off", "--all"); !strings.Contains(text, "lethe reconcile") {
		t.Errorf("a write-off says\n%s", text)
	}
	w.state("dead", 0)
	for _, d := range list {
		if err := os.Remove(filepath.Dir(filepath.Join(w.dir, "blobs", filepath.FromSlash(d.Name)))); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	w.plantFile(list[0].Name)
	if _, out, _ := w.lethe("reconcile"); !strings.Contains(out, "orphan: main") {
		t.Fatalf("the first walk says %s", out)
	}
	w.clock.Advance(49 * time.Hour)
	if _, out, _ := w.lethe("reconcile", "--json"); !strings.Contains(out, `"condemned":1`) {
		t.Fatalf("the second walk says %s", out)
	}
	w.reclaimed("gone", 1, "clean")
	w.ok("check")
}
