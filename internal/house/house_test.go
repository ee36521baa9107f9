package house

import (
	"os"
	"path/filepath"
	"testing"
)

// TestModule applies every rule to the module of this package.
func TestModule(t *testing.T) {
	files, err := Load(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if len(goFiles(files)) == 0 {
		t.Fatal("no Go files found: is this test run inside of the module?")
	}
	for _, rule := range Rules {
		t.Run(rule.Name, func(t *testing.T) {
			for _, finding := range rule.Check(files) {
				t.Errorf("\n%s", finding)
			}
		})
	}
}

// TestLoadLeavesOutWhatIsNotSource builds a small tree and reads it.
func TestLoadLeavesOutWhatIsNotSource(t *testing.T) {
	root := t.TempDir()
	for name, src := range map[string]string{
		"go.mod": "module m\n", "a.go": "package m\n", ".ci/run": "true\n",
		".git/config": "x", ".bin/tool.go": "package tool\n", "lethe": "binary", "x.test": "binary",
		"lethe-data/a.go": "package data\n", "bench/out/a.txt": "x", "data.bin": "a\x00b",
		"nested/go.mod": "module n\n", "nested/a.go": "package n\n",
		"b/testdata/broken.go": "not Go", "b/broken.go": "not Go either",
	} {
		writeFile(t, filepath.Join(root, name), src)
	}
	files, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, f := range files {
		got[f.Path] = true
	}
	want := []string{"go.mod", "a.go", ".ci/run", "b/testdata/broken.go", "b/broken.go"}
	for _, name := range want {
		if !got[name] {
			t.Errorf("%s was not read", name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("read %v, want %v", got, want)
	}
	if n := len(Parses(files)); n != 1 {
		t.Errorf("%d files that do not parse, want 1: the one outside of testdata", n)
	}
}

func writeFile(t *testing.T, name, src string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
}
