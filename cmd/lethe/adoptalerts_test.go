package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

const adoptAlertRules, adoptAlertTests = "../../deploy/prometheus/adopt_alerts.yaml", "../../deploy/prometheus/adopt_alerts_test.yaml"

// Each alert on adoption fires in its state and not beside it, has a section that its
// annotation names, and asks for metrics that adoption exports.
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
	tests, book, metrics := read(adoptAlertTests), read("../../docs/adopting-operate.md"), read("app/adoption/metrics.go")
	if len(file.Groups) != 1 || len(file.Groups[0].Rules) == 0 {
		t.Fatal("there are no rules")
	}
	for _, r := range file.Groups[0].Rules {
		if !strings.Contains(tests, `alertname="`+r.Alert+`"`) {
			t.Errorf("%s has no test", r.Alert)
		}
		if want := "docs/adopting-operate.md#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want || !strings.Contains(book, "\n### "+r.Alert+"\n") {
			t.Errorf("%s has no section %q", r.Alert, want)
		}
		for _, name := range regexp.MustCompile(`lethe_adopt_(\w+)`).FindAllStringSubmatch(r.Expr, -1) {
			if !strings.Contains(metrics, `desc("`+name[1]+`"`) {
				t.Errorf("%s asks for %s, which is not exported", r.Alert, name[0])
			}
		}
	}
}
