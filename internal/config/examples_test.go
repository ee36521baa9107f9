package config

import (
	"path/filepath"
	"testing"
)

// Example configurations in the repository are valid.
func TestExamples(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../../examples/*.yaml", "../../deploy/compose/lethe.yaml"} {
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
