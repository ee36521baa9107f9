package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lethe-storage/lethe/admin/api"
)

const lifecycleRules = `{"Rules":[
	{"ID":"drafts","Filter":{"Prefix":"drafts/"},"Status":"Enabled","Expiration":{"Date":"2020-01-01T00:00:00Z"}},
	{"ID":"later","Filter":{"Prefix":"later/"},"Status":"Disabled","Expiration":{"Days":7}}]}`

// TestLifecycleFromTheCommandLine simulates, sets, applies, explains and
// removes rules.
func TestLifecycleFromTheCommandLine(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("bucket")
	for _, key := range []string{"drafts/a", "later/b", "keep"} {
		w.put("bucket", key, "bytes", "")
	}
	file := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(file, []byte(lifecycleRules), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := asked[api.Simulation](w, "lifecycle", "simulate", "bucket", file).Rules
	if len(plan) != 2 || plan[0].Today.Objects != 1 || plan[0].Examples[0].Key != "drafts/a" || plan[1].Today.Objects != 0 || plan[1].Days.Objects != 1 {
		t.Fatalf("the simulation says %+v", plan)
	}
	if out := w.ok("lifecycle", "get"); !strings.Contains(out, "no bucket") {
		t.Errorf("the simulation set rules: %s", out)
	}
	if out := w.ok("lifecycle", "set", "bucket", file); !strings.Contains(out, "later (disabled): ends objects 7 days") {
		t.Errorf("set says %s", out)
	}
	w.ok("reclaim", "--once", "--only", "lifecycle")
	w.ok("reclaim", "--once", "--only", "expire")
	if out := w.ok("explain", "s3://bucket/drafts/a"); !strings.Contains(out, "not here") {
		t.Errorf("the rule ended nothing: %s", out)
	}
	w.ok("explain", "s3://bucket/later/b")
	if out := w.ok("lifecycle", "get", "bucket", "--xml"); !strings.Contains(out, "<Prefix>drafts/</Prefix>") {
		t.Errorf("as XML: %s", out)
	}
	if out := w.ok("lifecycle", "rm", "bucket"); !strings.Contains(out, "0 rules") {
		t.Errorf("rm says %s", out)
	}
	w.fails("no such bucket", "lifecycle", "get", "nowhere")
	if err := os.WriteFile(file, []byte(`{"Rules":[{"ID":"x","Filter":{"Prefix":""},"Status":"Enabled","Expiration":{"Days":1}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	w.fails("say it twice", "lifecycle", "set", "bucket", file)
}

// TestOneRule checks that one rule is enabled, disabled and removed, and the others stay.
func TestOneRule(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "drafts/a", "bytes", "")
	w.put("first", "later/b", "bytes", "")
	w.rules(lifecycleRules)
	plan := filepath.Join(t.TempDir(), "plan")
	w.ok("lifecycle", "rm", "first", "later", "--plan", plan)
	contains(t, "disable", w.ok("lifecycle", "disable", "s3://first", "drafts"), "first: 2 rules", "drafts (disabled)", "later (disabled)")
	code, out, _ := w.lethe("apply", plan, "--yes")
	contains(t, "a plan of the rules before", out, "other rules were set since")
	if code != exitFailure {
		t.Errorf("nothing of the plan was done, and the exit code is %d", code)
	}
	shown := newScreen(t)
	if code := run(t.Context(), w.args("lifecycle", "enable", "first", "later"), streams{terminal(t, "y\n"), io.Discard, shown.file}); code != 0 {
		t.Errorf("exit code %d", code)
	}
	contains(t, "the question", shown.read(), "Enable the rule later of first? It would end 1 object of 5 B within 30 days")
	contains(t, "enabled", w.ok("lifecycle", "get", "first"), "drafts (disabled)", "later: ends objects 7 days")
	w.ok("lifecycle", "rm", "first", "later", "--plan", plan)
	w.ok("apply", plan, "--yes")
	contains(t, "removed", w.ok("lifecycle", "get", "first"), "first: 1 rule,", "drafts (disabled)")
	contains(t, "rm", w.ok("lifecycle", "rm", "first", "drafts"), "0 rules")
}

// TestSimulationShowsAll checks that a simulation lists everything that would go, and names the
// command for that and the next steps.
func TestSimulationShowsAll(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	for i := range 7 { // more than there are examples
		w.put("first", fmt.Sprint("later/", i), "bytes", "")
	}
	w.put("first", "keep", "bytes", "")
	w.put("first", "ttl", "bytes", "1d")
	file := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(file, []byte(lifecycleRules), 0o600); err != nil {
		t.Fatal(err)
	}
	contains(t, "simulate", w.ok("lifecycle", "simulate", "first", file), "all that goes:   lethe lifecycle simulate first "+file+" --all", "set these rules: lethe lifecycle set first "+file, "keep some:       lethe hold add s3://first/prefix/")
	out := w.ok("lifecycle", "simulate", "first", file, "--all")
	if strings.Count(out, "\n") != 9 || strings.Count(out, "rule later") != 7 || strings.Contains(out, "keep") {
		t.Errorf("all:\n%s", out)
	}
	contains(t, "all", out, "ENDS", "time to live", "s3://first/later/6\n")
	lines := strings.Split(strings.TrimSpace(w.ok("lifecycle", "simulate", "first", file, "--all", "--json")), "\n")
	if len(lines) != 9 || !strings.Contains(lines[8], `"limits"`) {
		t.Errorf("as JSON:\n%s", strings.Join(lines, "\n"))
	}
	contains(t, "no rules", w.ok("lifecycle", "simulate", "first", "--days", "1", "--all"), "nothing would go within 1 day\n")
	w.rules(lifecycleRules)
	contains(t, "rules in use", w.ok("lifecycle", "simulate", "first"), "stop a rule:     lethe lifecycle disable first drafts")
}

// TestLifecycleOfTheConfiguration checks that rules of the file are set at the
// start and on SIGHUP, cannot be changed otherwise, and are removed with the
// file's last one.
func TestLifecycleOfTheConfiguration(t *testing.T) {
	w := newWorld(t)
	w.start()
	w.bucket("bucket")
	w.stop()
	file := filepath.Join(t.TempDir(), "lethe.yaml")
	write := func(level, rules string) {
		text := "log:\n  level: " + level + "\nlifecycle: [" + rules + "]\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("info", `"bucket=bucket id=old prefix=logs/ expiration_days=3"`)
	cmd, errs, ended := w.serving("--config", file)
	if out := w.ok("lifecycle", "get", "bucket"); !strings.Contains(out, "3 days") || !strings.Contains(out, "set in the configuration") {
		t.Errorf("at the start: %s", out)
	}
	w.fails("stand in the configuration", "lifecycle", "rm", "bucket")
	for _, c := range []struct{ level, rules, want string }{
		{"debug", `"bucket=bucket id=old prefix=logs/ expiration_days=4"`, "4 days"}, {"info", "", "0 rules"},
	} {
		write(c.level, c.rules)
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		if text, ok := errs.await(`"configuration reloaded","log.level":"` + c.level); !ok {
			t.Fatalf("nothing was reloaded: %s", text)
		}
		if out := w.ok("lifecycle", "get", "bucket"); !strings.Contains(out, c.want) {
			t.Errorf("after SIGHUP: %s, want %s", out, c.want)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}
