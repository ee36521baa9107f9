package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// Example configurations in the repository are valid.
func TestExamples(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../../examples/*.yaml", "../../deploy/compose/lethe.yaml", "../../deploy/package/lethe.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 10 {
		t.Fatalf("only %d examples were found: %v", len(files), files)
	}
	for _, file := range files {
		if _, err := Load(file, nil); err != nil {
			t.Error(err)
		}
	}
}

var variables = regexp.MustCompile(`LETHE_[A-Z0-9_]+`)

// The variables that image, packages, Compose and the chart set or ask for are settings. A wrong name
// there would be a warning in a log, and the default.
func TestVariablesOfDeployments(t *testing.T) {
	count := 0
	err := filepath.WalkDir("../../deploy", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		found := variables.FindAllString(string(text), -1)
		count += len(found)
		for _, unknown := range UnknownEnviron(found) {
			t.Errorf("%s: %s is no setting", path, unknown)
		}
		return err
	})
	if err != nil || count < 15 {
		t.Fatalf("%d variables were found: %v", count, err)
	}
}
