package config

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEveryKeyIsDocumented(t *testing.T) {
	keys := Keys()
	for _, k := range keys {
		if len(k.Doc) < len("host:port, or off.") {
			t.Errorf("%s: %q says too little; document it in lethe.yaml", k.Path, k.Doc)
		}
		if k.Type == "" {
			t.Errorf("%s has no type", k.Path)
		}
	}
	known := map[string]bool{}
	for _, k := range keys {
		for path := k.Path; path != ""; {
			known[path] = true
			path = path[:max(0, strings.LastIndex(path, "."))]
		}
	}
	for path := range commentsOf(initText) {
		if !known[path] {
			t.Errorf("lethe.yaml has %s, which is no key", path)
		}
	}
}

// TestManualNamesSettings checks that each setting in docs/configuration.md is
// one, or a section, with its default and variable.
func TestManualNamesSettings(t *testing.T) {
	text, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	keys, sections := map[string]Key{}, map[string]bool{}
	for _, k := range Keys() {
		keys[k.Path] = k
		for path := k.Path; path != ""; path = path[:max(0, strings.LastIndex(path, "."))] {
			sections[path] = true
		}
	}
	rows := regexp.MustCompile("(?m)^\\| `([a-z0-9_.\\[\\]]+)` \\| (?:`(.*?)`)? *\\|").FindAllStringSubmatch(string(text), -1)
	if len(rows) < 30 {
		t.Errorf("%d settings were found in its tables", len(rows))
	}
	for _, r := range rows {
		if k, ok := keys[r[1]]; !ok || k.Default != r[2] {
			t.Errorf("%s has the default %q there and %q in the program (is a setting: %t)", r[1], r[2], k.Default, ok)
		}
	}
	tops := slices.Sorted(maps.Keys(sections))
	for _, m := range regexp.MustCompile("`(?:--set )?([a-z_]+\\.[a-z0-9_.]+)(?:=[^`]*)?`").FindAllStringSubmatch(string(text), -1) {
		if top, _, _ := strings.Cut(m[1], "."); slices.Contains(tops, top) && !sections[m[1]] {
			t.Errorf("%s is no setting", m[1])
		}
	}
}

// The examples of docs/configuration.md are valid.
func TestManualExamples(t *testing.T) {
	text, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?m)^Example: .*\n\n((?:    .*\n)+)").FindAllStringSubmatch(string(text), -1)
	if len(examples) < 3 {
		t.Errorf("it has %d examples", len(examples))
	}
	for _, m := range examples {
		example := strings.ReplaceAll("\n"+m[1], "\n    ", "\n")
		c, err := Parse("example", []byte(example))
		if err == nil {
			err = c.Validate()
		}
		if err != nil {
			t.Errorf("%v:\n%s", err, example)
		}
	}
}
