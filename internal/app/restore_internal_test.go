package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
)

// crashed makes a ledger with a bucket that only its log has, as a crash leaves one.
func crashed(t *testing.T, path, bucket string) {
	t.Helper()
	live := filepath.Join(t.TempDir(), "ledger.db")
	db, err := sqlledger.Open(t.Context(), live, ledger.Options{}, sqlledger.Ballast(-1))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.CreateBucket(t.Context(), ledger.Bucket{Name: bucket}); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(live + suffix)
		if err == nil {
			err = os.WriteFile(path+suffix, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// hasBucket reports whether the ledger at the path, if there is one, has a bucket. It looks at a
// copy, so that nothing is played back in place.
func hasBucket(t *testing.T, path, bucket string) bool {
	t.Helper()
	if !exists(path) {
		return false
	}
	at := filepath.Join(t.TempDir(), "copy.db")
	if err := sqlledger.CopyFile(t.Context(), path, at); err != nil {
		t.Fatal(err)
	}
	db, err := sqlledger.Open(t.Context(), at, ledger.Options{}, sqlledger.Ballast(-1))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.Bucket(t.Context(), bucket)
	if err != nil && !errors.Is(err, lethe.ErrNoSuchBucket) {
		t.Fatal(err)
	}
	return err == nil
}

// A restore that ends after any of its steps has lost nothing: the ledger that it replaces has its
// log, where it was or where it is kept, and the restore can be repeated.
func TestARestoreThatEndsBetween(t *testing.T) {
	backup := filepath.Join(t.TempDir(), "backup.db")
	crashed(t, backup, "restored")
	for n := range 6 {
		c := config.Default()
		c.DataDir = t.TempDir()
		path := LedgerPath(c.DataDir)
		kept, fresh := path+".replaced-x", path+".restoring"
		crashed(t, path, "old")
		if err := sqlledger.CopyFile(t.Context(), backup, fresh); err != nil {
			t.Fatal(err)
		}
		for _, step := range replaceSteps(path, kept, fresh)[:n] {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
		if at := hasBucket(t, path, "old"); at == hasBucket(t, kept, "old") || !at && hasBucket(t, path, "restored") != (n == 5) {
			t.Errorf("after %d steps: where the ledger was, it is there: %v", n, at)
		}
		if !exists(path) {
			if _, err := OpenStore(t.Context(), c, Options{Create: true}); !errors.Is(err, ErrNoStore) || !strings.Contains(err.Error(), "lethe restore") {
				t.Errorf("after %d steps a server starts with an empty ledger: %v", n, err)
			}
		}
		done, err := Restore(context.Background(), c, backup, true)
		if err != nil {
			t.Fatal(err)
		}
		if !hasBucket(t, path, "restored") || hasBucket(t, path, "old") {
			t.Errorf("after %d steps the restore was repeated, and the ledger is not the restored one", n)
		}
		if !hasBucket(t, kept, "old") && !hasBucket(t, done.Kept, "old") {
			t.Errorf("after %d steps the restore was repeated, and the ledger before it is not kept", n)
		}
	}
}
