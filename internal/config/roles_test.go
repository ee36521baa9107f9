package config

import (
	"os"
	"path/filepath"
	"testing"
)

// A ledger in a file has one process: other processes cannot have the roles
// that it lacks.
func TestOneRoleNeedsASharedLedger(t *testing.T) {
	const shared = "database:\n  url: postgres://u@h/d\nbackends:\n  - name: a\n    kind: dir\n    path: /mnt/a\n"
	for text, fine := range map[string]bool{
		"roles: [serve]\n":            false,
		"roles: [reclaim]\n":          false,
		"roles: [serve, reclaim]\n":   true,
		"roles: [reclaim]\n" + shared: true,
	} {
		file := filepath.Join(t.TempDir(), "lethe.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(file, nil); (err == nil) != fine {
			t.Errorf("%q: %v", text, err)
		}
	}
}
