package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

const adoptAlertRules, adoptAlertTests = "../../deploy/prometheus/adopt_alerts.yaml", "../../deploy/prometheus/adopt_alerts_test.yaml"

// Each alert on adoption fires in its state and only then, has a section that
// its annotation names, and uses metrics that adoption exports.
func TestAdoptAlerts(t *testing.T) {
	promtool(t, "check", "rules", adoptAlertRules)
	promtool(t, "test", "rules", adoptAlertTests)
	read := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var file struct {
		Groups []struct {
			Rules []rule `yaml:"rules"`
		} `yaml:"groups"`
	}
	if err := yaml.Unmarshal([]byte(read(adoptAlertRules)), &file); err != nil {
		t.Fatal(err)
	}
	tests, book, metrics := read(adoptAlertTests), read("../../docs/adopting-operate.md"), read("../../internal/app/adoption/metrics.go")
	if len(file.Groups) != 1 || len(file.Groups[0].Rules) == 0 {
		t.Fatal("there are no rules")
	}
	asked := panels(t)
	for _, r := range file.Groups[0].Rules {
		if !strings.Contains(tests, `alertname="`+r.Alert+`"`) {
			t.Errorf("%s has no test", r.Alert)
		}
		if want := "docs/adopting-operate.md#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want || !strings.Contains(book, "\n### "+r.Alert+"\n") {
			t.Errorf("%s has no section %q", r.Alert, want)
		}
		asked[r.Alert] = append(asked[r.Alert], r.Expr)
	}
	exported := 0
	for by, exprs := range asked {
		for _, name := range regexp.MustCompile(`lethe_adopt_(\w+)`).FindAllStringSubmatch(strings.Join(exprs, " "), -1) {
			exported++
			if !strings.Contains(metrics, `desc("`+name[1]+`"`) {
				t.Errorf("%q asks for %s, which is not exported", by, name[0])
			}
		}
	}
	if exported < 20 {
		t.Errorf("rules and dashboard ask for %d metrics", exported)
	}
}

// Status shows what is wrong, and why a collection is not worked on.
func TestAdoptStatusTellsWhatIsWrong(t *testing.T) {
	a := newAdopted(t, strings.NewReplacer())
	if _, err := a.store.Create(t.Context(), []byte("stuck"), time.Hour); err != nil {
		t.Fatal(err)
	}
	a.sql(`UPDATE pastes SET deletion_status = 'DELETION_IN_PROGRESS', deletion_initiated_at = now() - INTERVAL '3 hours'`)
	a.ok([]string{"WRONG pastes: 1 row has been in progress for longer than grace.watchdog\n"}, "status", a.file)
	described, err := os.ReadFile(a.file)
	if err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(t.TempDir(), "report.yaml")
	if err := os.WriteFile(report, bytes.ReplaceAll(described, []byte("mode: reclaim"), []byte("mode: report")), 0o600); err != nil {
		t.Fatal(err)
	}
	a.ok([]string{"longer than grace.watchdog; in mode report nothing is put back"}, "status", report)
	if code, out := a.run("run", a.file, "--once"); code != exitProblems {
		t.Errorf("a run without a guard: exit code %d\n%s", code, out)
	}
	a.ok([]string{"WRONG pastes: not worked on, by the instance that looked last, at 2", "its guard is not installed"}, "status", a.file)
	a.ok(nil, "guard", "install", a.file, "--yes")
	a.ok(nil, "run", a.file, "--once")
	a.sql(`UPDATE pastes SET expires_at = now()`)
	a.ok([]string{"rows 1"}, "run", a.file, "--once")
	if out := a.ok([]string{"routine ", "expire pastes ", " ok ", "rows 1", "in "}, "status", a.file); strings.Contains(out, "WRONG") {
		t.Errorf("all is well, and status says:\n%s", out)
	}
}
