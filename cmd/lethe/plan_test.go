package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// planned writes a plan and reads it back.
func (w *world) planned(args ...string) (path string, end plan.End) {
	w.t.Helper()
	path = filepath.Join(w.t.TempDir(), "plan")
	w.ok(append(args, "--plan", path)...)
	f, err := os.Open(path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	if _, end, err = plan.Check(f); err != nil {
		w.t.Fatal(err)
	}
	return path, end
}

// applied applies a plan and returns its result.
func (w *world) applied(path string, args ...string) (res api.ApplyResult) {
	w.t.Helper()
	code, out, errs := w.lethe(append([]string{"apply", path, "--json"}, args...)...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &res); err != nil {
		w.t.Fatalf("%v: %s%s", err, out, errs)
	}
	left := res.Items - res.Done.Items - res.Outcomes[plan.Already] - res.Outcomes[plan.Gone]
	if want := res.Outcomes[plan.Failed] > 0 || res.Done.Items == 0 && left > 0; (code == exitFailure) != want || errs != "" {
		w.t.Errorf("exit code %d and %q for %+v", code, errs, res)
	}
	return res
}

// A plan changes what it names and nothing else, and skips what has changed.
func TestPlanAndApply(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	for i := range 6 {
		w.put("first", fmt.Sprint("k", i), fmt.Sprint("body ", i), "1h")
	}
	w.put("first", "shared", "body 0", "")
	w.clock.Advance(2 * time.Hour)
	path, end := w.planned("reclaim", "--only", "expire")
	if end.Totals.Items != 6 || end.Totals.Shared != 1 || end.Totals.Groups[0].Why != "time to live is over" || end.Totals.Groups[0].Blobs != 5 || end.Estimates[0].Later != 1 {
		t.Fatalf("planned %+v %+v", end.Totals, end.Estimates)
	}
	w.put("first", "k1", "written again", "1h")
	w.put("first", "late", "due after the plan", "1m")
	w.clock.Advance(2 * time.Hour)
	res := w.applied(path)
	if res.Done.Items != 5 || res.Outcomes[plan.Changed] != 1 || res.Items != 6 {
		t.Fatalf("applied %+v", res)
	}
	if res = w.applied(path); res.Done.Items != 0 || res.Outcomes[plan.Gone] != 5 || res.Outcomes[plan.Changed] != 1 {
		t.Fatalf("applied again: %+v", res)
	}
	if _, end = w.planned("reclaim", "--only", "expire"); end.Totals.Items != 2 {
		t.Fatalf("what was not in the plan is gone: %+v", end.Totals)
	}
	w.clock.Advance(time.Minute)
	path, end = w.planned("reclaim", "--only", "clean")
	if end.Totals.Items != 5 {
		t.Fatalf("planned %+v", end.Totals)
	}
	if res = w.applied(path); res.Done.Items != 5 || res.Runs["clean"]["gone"] != 5 {
		t.Fatalf("applied %+v", res)
	}
	if out := w.ok("apply", path); !strings.Contains(out, "0 of 5 items done") || !strings.Contains(out, "5 gone already") {
		t.Errorf("told as %s", out)
	}
}

// Only a valid plan of this very ledger is accepted; otherwise nothing is done.
func TestPlansThatAreRefused(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "k", "body", "1h")
	w.clock.Advance(2 * time.Hour)
	path, _ := w.planned("reclaim", "--only", "expire")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	altered := filepath.Join(t.TempDir(), "altered")
	for _, other := range []string{strings.Replace(string(text), `"key":"k"`, `"key":"l"`, 1), string(text[:len(text)/2]), "hello\n", ""} {
		if err := os.WriteFile(altered, []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
		w.fails("plan", "apply", altered)
	}
	other := newWorld(t).start()
	other.fails("the plan is of store", "apply", path)
	w.fails(`routine "verify" makes no plan`, "reclaim", "--only", "verify", "--plan", altered)
	w.clock.Advance(25 * time.Hour)
	w.fails("force", "apply", path)
	if res := w.applied(path, "--force"); res.Done.Items != 1 {
		t.Errorf("applied %+v", res)
	}
}

// A plan with an unknown item is refused before the first is applied.
func TestPlansWithStrangeItems(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "k", "body", "1h")
	w.clock.Advance(2 * time.Hour)
	path, _ := w.planned("reclaim", "--only", "expire")
	from, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	in, err := plan.NewReader(from)
	if err != nil {
		t.Fatal(err)
	}
	item, err := in.Next()
	if err != nil {
		t.Fatal(err)
	}
	strange := item
	strange.Do = "verify"
	to, err := os.Create(filepath.Join(t.TempDir(), "strange"))
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	out, err := plan.NewWriter(to, in.Header)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []plan.Item{item, strange} {
		if err := out.Add(i); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := out.Close(nil); err != nil {
		t.Fatal(err)
	}
	w.fails("nothing was done: item 2", "apply", to.Name())
	if res := w.applied(path); res.Done.Items != 1 || res.Items != 1 {
		t.Errorf("applied %+v", res)
	}
}

// The other commands that destroy make plans, too.
func TestPlansOfCommands(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.ok("buckets", "set", "first", "--undo", "7d")
	w.put("first", "a", "one", "")
	w.put("first", "b", "two", "")
	w.remove("first", "a")
	w.remove("first", "b")
	path, end := w.planned("trash", "purge", "--bucket", "first")
	if end.Totals.Items != 2 {
		t.Fatalf("planned %+v", end.Totals)
	}
	list := asked[[]api.TrashEntry](w, "trash", "list")
	w.ok("trash", "restore", list[0].ID)
	if res := w.applied(path); res.Done.Items != 1 || res.Outcomes[plan.Gone] != 1 {
		t.Errorf("applied %+v", res)
	}
	path, end = w.planned("reclaim", "--only", "purge")
	if res := w.applied(path); end.Totals.Items != 1 || res.Done.Items != 1 {
		t.Errorf("planned %+v, applied %+v", end.Totals, res)
	}

	rules := filepath.Join(t.TempDir(), "rules.json")
	doc := `{"Rules":[{"ID":"r","Status":"Enabled","Filter":{"Prefix":"tmp/"},"Expiration":{"Days":%d}}]}`
	if err := os.WriteFile(rules, fmt.Appendf(nil, doc, 1), 0o600); err != nil {
		t.Fatal(err)
	}
	path, end = w.planned("lifecycle", "set", "first", rules)
	if !strings.Contains(end.Totals.Groups[0].Why, "1 rule would end 0 objects today") {
		t.Errorf("planned %+v", end.Totals)
	}
	if res := w.applied(path); res.Done.Items != 1 {
		t.Errorf("applied %+v", res)
	}
	if res := w.applied(path); res.Outcomes[plan.Changed] != 1 {
		t.Errorf("applied again: %+v", res)
	}
	path, _ = w.planned("lifecycle", "rm", "first")
	if res := w.applied(path); res.Done.Items != 1 {
		t.Errorf("applied %+v", res)
	}
	w.fails("no such backend", "backend", "drain", "nowhere", "--plan", path)
}

// A dry run shows what would be deleted, why and at what cost.
func TestDryRunTells(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "k", "body", "1h")
	w.clock.Advance(2 * time.Hour)
	out := w.ok("reclaim", "--dry-run")
	for _, want := range []string{"time to live is over", "s3://first/k", "1 later to delete", "time unknown"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if audits := w.audits(); audits != 1 { // of the bucket's creation
		t.Errorf("dry runs are audited as changes: %d lines", audits)
	}
	for i := range 100 {
		w.put("first", fmt.Sprint("k", i), "body", "1h")
	}
	w.clock.Advance(2 * time.Hour)
	w.ok("reclaim", "--once", "--only", "expire")
	w.put("first", "k", "body", "1h")
	w.clock.Advance(2 * time.Hour)
	if out = w.ok("reclaim", "--dry-run", "--only", "expire"); !strings.Contains(out, "by run ") {
		t.Errorf("a measured rate is missing in\n%s", out)
	}
}

// Replicate plans the copies that it makes and those that it condemns, and
// survey what it would queue. Applying does that and no more.
func TestPlansOfCopies(t *testing.T) {
	w := newWorld(t, "backends=[{name: one, kind: dir, path: one}, {name: two, kind: dir, path: two}]", "placement.replicas=2").start()
	w.bucket("first")
	for i := range 3 {
		w.put("first", fmt.Sprint("k", i), fmt.Sprint("body ", i), "")
	}
	path, end := w.planned("reclaim", "--only", "replicate")
	if g := end.Totals.Groups; end.Totals.Items != 3 || g[0].Why != "copied to two" || g[0].Copies != 3 || g[0].Blobs != 0 || end.Estimates[0].Calls != 9 {
		t.Fatalf("planned %+v %+v", end.Totals, end.Estimates)
	}
	w.remove("first", "k0")
	w.put("first", "later", "not in the plan", "")
	if res := w.applied(path); res.Done.Items != 2 || res.Outcomes[plan.Gone] != 1 || res.Runs["replicate"]["copies"] != 2 {
		t.Fatalf("applied %+v", res)
	}
	if res := w.applied(path); res.Outcomes[plan.Already] != 2 || res.Outcomes[plan.Gone] != 1 {
		t.Errorf("applied again: %+v", res)
	}
	w.reclaimed("copies", 1, "replicate")

	w.stop()
	w.settings = append(w.settings, "placement.replicas=1")
	w.start()
	path, end = w.planned("reclaim", "--only", "survey")
	if g := end.Totals.Groups; end.Totals.Items != 3 || g[0].Why != "condemned: surplus on two" || g[0].Blobs != 3 || end.Estimates[0].Later != 1 {
		t.Fatalf("surveyed %+v %+v", end.Totals, end.Estimates)
	}
	w.remove("first", "k1")
	if res := w.applied(path); res.Done.Items != 2 || res.Outcomes[plan.Gone] != 1 {
		t.Errorf("applied %+v", res)
	}
	path, end = w.planned("reclaim") // what is queued is planned with the others
	if end.Totals.By()["replicate"].Blobs != 2 {
		t.Errorf("planned %+v", end.Totals)
	}
	if res := w.applied(path); res.Runs["replicate"]["trimmed"] != 2 {
		t.Errorf("applied %+v", res)
	}
	w.ok("check", "--checksums")
}

// Drain and rebalance plan the moves; applying queues them for replicate.
func TestPlansOfMoves(t *testing.T) {
	w := newWorld(t, "backends=[{name: old, kind: dir, path: old, quota: 1MiB}, {name: new, kind: dir, path: new, quota: 1MiB}]").start()
	w.bucket("first")
	for i := range 3 {
		w.put("first", fmt.Sprint("k", i), fmt.Sprint("body ", i), "")
	}
	w.ok("backend", "drain", "old")
	if out := w.ok("reclaim", "--dry-run", "--only", "drain"); !strings.Contains(out, "copied to new, then condemned") || !strings.Contains(out, "9 calls") {
		t.Errorf("a dry run says\n%s", out)
	}
	path, end := w.planned("reclaim", "--only", "drain")
	if end.Totals.Items != 3 || end.Totals.Groups[0].Frees != 18 {
		t.Fatalf("planned %+v", end.Totals)
	}
	w.remove("first", "k0")
	if res := w.applied(path); res.Done.Items != 2 || res.Outcomes[plan.Changed] != 1 {
		t.Fatalf("applied %+v", res)
	}
	w.reclaimed("copies", 2, "replicate")
	if res := w.applied(path); res.Outcomes[plan.Changed] != 3 {
		t.Errorf("applied again: %+v", res)
	}
	if _, end = w.planned("reclaim"); len(end.Totals.Does()) != 0 {
		t.Errorf("what walks over everything plans unless it is named: %+v", end.Totals)
	}
	if _, end = w.planned("reclaim", "--only", "rebalance"); end.Totals.Items != 0 {
		t.Errorf("planned %+v", end.Totals)
	}
	if got, err := w.get("first", "k2"); got != "body 2" {
		t.Errorf("it holds %q, %v", got, err)
	}
}
