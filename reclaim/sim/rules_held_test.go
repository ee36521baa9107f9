package sim_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryRuleIsHeld: each rule that docs/protocol.md numbers has a row in the table of
// docs/testing.md, and something in it: mutants, all that name the rule and no others,
// variants of the model, tests; and all of them are there.
func TestEveryRuleIsHeld(t *testing.T) {
	rows := tableRows(t, "docs/testing.md", "## Rules and what holds them")
	variants, tests := moduleFile(t, "model/lethe.pml"), allTests(t)
	for n, rule := range tableRows(t, "docs/protocol.md", "## Rules") {
		row, ok := rows[n]
		if !ok || len(row) != 3 {
			t.Errorf("rule %s (%s) has no row of three in the table", n, rule[0])
			continue
		}
		delete(rows, n)
		named := cells(row[0], " · ")
		if want := mutantsOf(n); !slices.Equal(named, want) {
			t.Errorf("rule %s: mutants %q, want %q", n, named, want)
		}
		models, shown := cells(row[1], ", "), cells(row[2], ", ")
		for _, v := range models {
			if !regexp.MustCompile(`\b` + v + `\b`).MatchString(variants) {
				t.Errorf("rule %s: the model has no variant %q", n, v)
			}
		}
		for _, name := range shown {
			if !tests[name] {
				t.Errorf("rule %s: there is no test %q", n, name)
			}
		}
		if len(named)+len(models)+len(shown) == 0 {
			t.Errorf("nothing holds rule %s: %s", n, rule[0])
		}
	}
	for n := range rows {
		t.Errorf("the table has a rule %s, and docs/protocol.md has none", n)
	}
}

// mutantsOf are the names of the mutants that break a rule, sorted.
func mutantsOf(rule string) (names []string) {
	for _, m := range append(slices.Clone(mutants), placementMutants...) {
		if n, _, _ := strings.Cut(m.rule, ":"); n == rule {
			names = append(names, m.name)
		}
	}
	slices.Sort(names)
	return names
}

// tableRows are the rows of the first table below a heading that begin with a number, by
// that, without it.
func tableRows(t *testing.T, file, heading string) map[string][]string {
	t.Helper()
	_, text, found := strings.Cut(moduleFile(t, file), "\n"+heading+"\n")
	if !found {
		t.Fatalf("%s has no %q", file, heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	rows := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \| (.*) \|$`).FindAllStringSubmatch(text, -1) {
		rows[m[1]] = strings.Split(m[2], " | ")
	}
	if len(rows) == 0 {
		t.Fatalf("%s: no rows below %q", file, heading)
	}
	return rows
}

// cells are the sorted parts of a cell, none if it is a dash.
func cells(s, by string) []string {
	if s == "–" {
		return nil
	}
	list := strings.Split(strings.ReplaceAll(s, "`", ""), by)
	slices.Sort(list)
	return list
}

func moduleFile(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// allTests are the names of all tests and fuzz targets of the module.
func allTests(t *testing.T) map[string]bool {
	t.Helper()
	names, declared := map[string]bool{}, regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(text, -1) {
			names[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
