package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that has a password where an address should be is not quoted.
func TestDatabaseURLFileIsNotQuoted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "url")
	for _, text := range []string{"hunter2-the-password", "host=db password = hunter2-the-password sslmode=bogus"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, "database.url_file="+file, "reclaim.grace.heartbeat=100ms", "backends=[{name: a, kind: dir, path: "+t.TempDir()+"}]")
		code, out, errs := w.lethe("status")
		if code == 0 || !strings.Contains(errs, "postgres://user:password@host") || strings.Contains(out+errs, "hunter2") {
			t.Errorf("exit code %d, told: %s%s", code, out, errs)
		}
	}
}
