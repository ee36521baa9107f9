package main

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
)

// moment is what a server exports, by series, and the time of its clock.
type moment struct {
	at     lethe.Time
	series map[string]string
}

var seriesLine = regexp.MustCompile(`(?m)^(lethe_\w+)(\{[^}]*\})? (\S+)$`)

// target is what Prometheus adds to each series.
const target = `instance="a:9002",job="lethe"`

// scrape scrapes the server as Prometheus does: one that does not respond is
// not up.
func (w *world) scrape() moment {
	w.t.Helper()
	m := moment{w.clock.Now(), map[string]string{"up{" + target + "}": "0"}}
	resp, err := http.Get(w.metrics)
	if err != nil {
		return m
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		w.t.Fatalf("a scrape answers %s, %v", resp.Status, err)
	}
	m.series["up{"+target+"}"] = "1"
	for _, s := range seriesLine.FindAllStringSubmatch(string(text), -1) {
		labels := strings.Trim(s[2], "{}")
		if labels != "" {
			labels += ","
		}
		m.series[s[1]+"{"+labels+target+"}"] = s[3]
	}
	return m
}

// scenario is what Prometheus sees of a server: a normal state, then a fault, and
// at last the state after the runbook was followed. Each moment lasts for some
// samples.
type scenario struct {
	alert   string
	well    moment
	bad     []moment
	good    *moment       // nil if no step ends it
	samples int           // of each moment (default 20)
	every   time.Duration // between two (default a minute)
}

// judge checks by promtool that the alert is silent, then fires, then is silent
// again.
func (w *world) judge(c scenario) {
	w.t.Helper()
	if c.samples == 0 {
		c.samples = 20
	}
	if c.every == 0 {
		c.every = time.Minute
	}
	rules, err := filepath.Abs(alertRules)
	if err != nil {
		w.t.Fatal(err)
	}
	text := fmt.Sprintf("rule_files: [%q]\nevaluation_interval: %s\ntests:\n  - interval: %s\n    input_series:\n", rules, c.every, c.every)
	file := filepath.Join(w.t.TempDir(), c.alert+"_test.yaml")
	if err := os.WriteFile(file, []byte(text+c.inputs(alerts(w.t))+c.questions()), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if out, ok := promtoolSays(w.t, "test", "rules", file); !ok {
		w.t.Errorf("%s over what was exported (silent at first, 1 then, silent at last): %s\n%s", c.alert, out, c.inputs(alerts(w.t)))
	}
}

// moments returns all of a course, one after the other.
func (c *scenario) moments() []moment {
	list := slices.Concat([]moment{c.well}, c.bad)
	if c.good != nil {
		list = append(list, *c.good, *c.good, *c.good) // range of the expressions
	}
	return list
}

// questions returns the checks at the end of each part whether the alert fired
// within it, and at the very end whether it still does.
func (c *scenario) questions() string {
	fired := func(moments int) string {
		return fmt.Sprintf("count_over_time(ALERTS{alertname=%q,alertstate=\"firing\"}[%s])", c.alert, time.Duration(moments*c.samples)*c.every-c.every/2)
	}
	ask := func(expr string, after int, want string) string {
		return fmt.Sprintf("      - expr: '%s'\n        eval_time: %s\n        exp_samples: %s\n", expr, time.Duration(after*c.samples-1)*c.every, want)
	}
	out := "    promql_expr_test:\n" + ask(fired(1), 1, "[]") +
		ask("count("+fired(len(c.bad))+") > bool 0", 1+len(c.bad), `[{labels: "{}", value: 1}]`)
	if c.good != nil {
		out += ask(fmt.Sprintf("ALERTS{alertname=%q,alertstate=\"firing\"}", c.alert), 4+len(c.bad), "[]")
	}
	return out
}

// inputs returns the series of the alert's rule. One that was not exported at a
// moment is missing then, as in Prometheus.
func (c *scenario) inputs(rules []rule) string {
	at := slices.IndexFunc(rules, func(r rule) bool { return r.Alert == c.alert })
	names := append(metricName.FindAllString(rules[at].Expr, -1), "up")
	list := c.moments()
	all := map[string]bool{}
	for _, m := range list {
		for series := range m.series {
			name, _, _ := strings.Cut(series, "{")
			all[series] = all[series] || slices.Contains(names, name)
		}
	}
	var b strings.Builder
	for series, asked := range all {
		if asked {
			fmt.Fprintf(&b, "      - series: %s\n        values: %q\n", strconv.Quote(series), c.values(series, list))
		}
	}
	return b.String()
}

func (c *scenario) values(series string, list []moment) string {
	var out []string
	there := false
	for n, m := range list {
		text, known := m.series[series]
		switch {
		case known:
			out = append(out, repeated(c.value(series, text, n, m.at), c.samples))
		case there:
			out = append(out, fmt.Sprintf("stale _x%d", c.samples-1))
		default:
			out = append(out, fmt.Sprintf("_x%d", c.samples))
		}
		there = known
	}
	return strings.Join(out, " ")
}

// repeated returns a repeated value in promtool's notation, which cannot repeat
// infinity.
func repeated(value string, times int) string {
	if strings.HasSuffix(value, "Inf") {
		return strings.TrimSuffix(strings.Repeat(value+" ", times), " ")
	}
	return fmt.Sprintf("%sx%d", value, times-1)
}

// value returns a value in promtool's notation, without an exponent. An instant
// keeps its distance from the moment.
func (c *scenario) value(series, text string, n int, at lethe.Time) string {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return strings.TrimPrefix(text, "+")
	}
	if strings.Contains(series, "_timestamp_seconds") {
		f += (time.Duration(n*c.samples) * c.every).Seconds() - float64(at)/1e6
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
