package main

import (
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
