package app

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// The lock file names a process at any time, the right one once it is locked.
func TestTheLockNamesItsHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if err := os.WriteFile(path, []byte("1234567890123\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := writeHolder(f); err != nil {
		t.Fatal(err)
	}
	if got := holder(f); got != " (process "+strconv.Itoa(os.Getpid())+")" {
		t.Errorf("it names%s", got)
	}
}
