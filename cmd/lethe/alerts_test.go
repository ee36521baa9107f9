package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/test/servers"
)

const (
	alertRules = "../../deploy/prometheus/alerts.yaml"
	alertTests = "../../deploy/prometheus/alerts_test.yaml"
	// alertTestsOfDays are the tests of alerts that take days.
	alertTestsOfDays = "../../deploy/prometheus/alerts_days_test.yaml"

	dashboard = "../../deploy/grafana/lethe.json"
	runbooks  = "../../docs/runbooks.md"
)

// promtool runs Prometheus's tool, which has to succeed.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(servers.Promtool(t), args...).CombinedOutput(); err != nil {
		t.Fatalf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// rule is an alert.
type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func alerts(t *testing.T) (list []rule) {
	t.Helper()
	text, err := os.ReadFile(alertRules)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []rule `yaml:"rules"`
		} `yaml:"groups"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		list = append(list, g.Rules...)
	}
	return list
}

// panels returns the expressions of the dashboard, by the title of their panel.
func panels(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(dashboard)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			out[p.Title] = append(out[p.Title], target.Expr)
		}
	}
	return out
}

func TestAlertRulesAreSound(t *testing.T) {
	promtool(t, "check", "rules", alertRules)
	promtool(t, "check", "config", "../../deploy/prometheus/prometheus.yaml")
	promtool(t, "test", "rules", alertTests, alertTestsOfDays)
}

// Every alert has a test, and a section in the runbooks that its annotation
// names.
func TestEveryAlertHasATestAndARunbook(t *testing.T) {
	tests, err := os.ReadFile(alertTests)
	if err != nil {
		t.Fatal(err)
	}
	ofDays, err := os.ReadFile(alertTestsOfDays)
	if err != nil {
		t.Fatal(err)
	}
	tests = append(tests, ofDays...)
	book, err := os.ReadFile(runbooks)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range alerts(t) {
		if !strings.Contains(string(tests), `alertname="`+r.Alert+`"`) {
			t.Errorf("%s has no test", r.Alert)
		}
		if want := "docs/runbooks.md#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
			t.Errorf("%s names the runbook %q, not %q", r.Alert, r.Annotations["runbook_url"], want)
		}
		if !strings.Contains(string(book), "\n## "+r.Alert+"\n") {
			t.Errorf("%s has no runbook", r.Alert)
		}
	}
}

// The alerts whose label is the kind of a finding have a runbook that names each kind that
// they can have.
func TestRunbooksNameEveryKind(t *testing.T) {
	book, err := os.ReadFile(runbooks)
	if err != nil {
		t.Fatal(err)
	}
	excluded := regexp.MustCompile(`kind!~"([^"]*)"`)
	named := 0
	for _, r := range alerts(t) {
		severity := strings.ToLower(strings.TrimPrefix(r.Alert, "Lethe"))
		if severity != api.SeverityCritical && severity != api.SeverityWarning {
			continue
		}
		_, section, _ := strings.Cut(string(book), "\n## "+r.Alert+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		elsewhere := strings.Split(excluded.FindStringSubmatch(r.Expr)[1], "|")
		for _, f := range api.FindingKinds {
			if !slices.Contains(f.Severities, severity) || slices.Contains(elsewhere, f.Kind) {
				continue
			}
			if named++; !strings.Contains(section, "`"+f.Kind+"`") {
				t.Errorf("the runbook of %s does not name %s", r.Alert, f.Kind)
			}
		}
	}
	if named < 10 {
		t.Errorf("%d kinds were compared", named)
	}
}

// Every expression of the dashboard can be evaluated.
func TestDashboardIsSound(t *testing.T) {
	type recording struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var list []recording
	for _, exprs := range panels(t) {
		for _, e := range exprs {
			e = strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*").Replace(e)
			list = append(list, recording{fmt.Sprintf("panel:%d", len(list)), e})
		}
	}
	text, err := yaml.Marshal(map[string]any{"groups": []map[string]any{{"name": "dashboard", "rules": list}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", file)
}

var metricName = regexp.MustCompile(`\blethe_\w+`)

// afterTrouble are metrics without series before something goes wrong, without
// Redis, or before a walk over a backend has ended.
var afterTrouble = []string{
	"lethe_backend_call_errors_total", "lethe_ledger_errors_total", "lethe_ledger_retries_total", "lethe_read_troubles_total",
	"lethe_verify_problems_total", "lethe_redis_up", "lethe_reconcile_last",
}

// The metrics of rules and dashboard are exported by a server in normal
// operation.
func TestRulesAndDashboardNameMetricsThatExist(t *testing.T) {
	w := newWorld(t, "reclaim.clean.enabled=true", "reclaim.clean.schedule=every 24h").start()
	w.bucket("first")
	w.put("first", "a", "bytes", "1m")
	w.put("first", "b", "bytes of b", "")
	w.remove("first", "b")
	w.gone("first", "b")
	w.clock.Advance(time.Hour)
	w.ok("reclaim", "--once")
	w.clock.Advance(time.Hour)
	w.ok("reclaim", "--once")
	w.ok("usage", "--refresh")
	_, text := get(t, w.app.Addresses().Metrics+"/metrics")
	asked := map[string]string{}
	for _, r := range alerts(t) {
		for _, name := range metricName.FindAllString(r.Expr, -1) {
			asked[name] = r.Alert
		}
	}
	for title, exprs := range panels(t) {
		for _, name := range metricName.FindAllString(strings.Join(exprs, "\n"), -1) {
			if !strings.HasPrefix(name, "lethe_adopt_") { // TestAdoptAlerts checks those
				asked[name] = title
			}
		}
	}
	for name, by := range asked {
		if !strings.Contains(text, "\n"+name+"{") && !strings.Contains(text, "\n"+name+" ") && !slices.Contains(afterTrouble, name) {
			t.Errorf("%q asks for %s, which is not exported", by, name)
		}
	}
	if len(asked) < 40 {
		t.Errorf("only %d names were found: %v", len(asked), asked)
	}
}

// promtoolSays runs Prometheus's tool, and reports whether it succeeded.
func promtoolSays(t *testing.T, args ...string) (string, bool) {
	t.Helper()
	out, err := exec.Command(servers.Promtool(t), args...).CombinedOutput()
	return string(out), err == nil
}
