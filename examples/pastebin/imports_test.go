package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestStandsAlone shows that the service is a program of its own: outside of tests
// it imports nothing of this module but its own packages.
func TestStandsAlone(t *testing.T) {
	const module, own = "github.com/lethe-storage/lethe", "github.com/lethe-storage/lethe/examples/pastebin"
	within := func(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }
	checked := 0
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			checked++
			if within(path, module) && !within(path, own) {
				t.Errorf("%s imports %s", name, path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked == 0 {
		t.Fatal("no imports were found")
	}
}
