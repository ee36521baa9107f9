package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A value that a flag cannot have is refused in words, whatever its type is.
func TestFlagValuesAreRefusedInWords(t *testing.T) {
	for line, want := range map[string]string{
		"buckets set b --evict-high much":          `invalid value "much" for --evict-high: want a whole number, 1 to 100; see lethe buckets set --help`,
		"buckets set b --evict-low 1.5":            `invalid value "1.5" for --evict-low: want a whole number`,
		"buckets set b --max-objects -1":           `invalid value "-1" for --max-objects: want a whole number, 0 or more`,
		"events list app --after x":                `invalid value "x" for --after: want a whole number`,
		"forecast --days 99999999999999999999":     `invalid value "99999999999999999999" for --days: want a whole number`,
		"limits allow ttl b --count 0":             `invalid value "0" for --count: want a whole number, 1 or more`,
		"reclaim --once --yes=maybe":               `invalid value "maybe" for --yes: want true or false`,
		"reclaim --dry-run --only \"expire":        `invalid value "\"expire" for --only: want a list, with commas between its items`,
		"status --watch=soon":                      `invalid value "soon" for --watch: want a duration, such as 2s or 5m; see lethe status --help`,
		"buckets set b --quota much --yes":         `--quota: "much" is not a size`,
		"dead list --min-size much":                `--min-size "much" is not a size`,
		"adopt run adopt.yaml --once --metrics :1": `--metrics and --once exclude each other; see lethe adopt run --help`,
		"adopt run adopt.yaml --dry-run=always":    `invalid value "always" for --dry-run: want true or false; see lethe adopt run --help`,
	} {
		var errs bytes.Buffer
		code := run(t.Context(), append([]string{"--data-dir", t.TempDir()}, strings.Fields(line)...), streams{new(bytes.Buffer), new(bytes.Buffer), &errs})
		if wrong := map[bool]int{false: exitUsage, true: exitUnknown}[strings.HasPrefix(line, "status")]; code != wrong || !strings.Contains(errs.String(), want) {
			t.Errorf("lethe %s: exit code %d, %s, want %d, %s", line, code, errs.String(), wrong, want)
		}
	}
}

// Every flag has a type whose values can be refused in words.
func TestFlagTypesHaveWords(t *testing.T) {
	own := map[string]bool{"string": true, "stringArray": true, "number": true}
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if kind := f.Value.Type(); !own[kind] && wanted[kind] == "" {
				t.Errorf("%s --%s: no words for values of type %s", cmd.CommandPath(), f.Name, kind)
			}
		})
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit((&cli{}).root())
}
