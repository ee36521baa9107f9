package sqlledger

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/test/clocktest"
)

func newTestClock() *clocktest.Clock {
	return clocktest.At(lethe.FromTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
}

// openTest opens a ledger that is closed with the test.
func openTest(t testing.TB, path string, o ledger.Options, set ...Setting) *DB {
	t.Helper()
	db, err := Open(context.Background(), path, o, set...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// filePath names a file that does not exist yet, in a folder whose name needs
// care.
func filePath(t testing.TB) string { return filepath.Join(t.TempDir(), "ledger ?#%41.db") }

// setUp makes a backend "disk" and a bucket "b".
func setUp(t testing.TB, db *DB) {
	t.Helper()
	ctx := context.Background()
	if _, err := db.AddBackend(ctx, ledger.Backend{ID: "disk"}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.CreateBucket(ctx, ledger.Bucket{Name: "b", Owner: "alice"}); err != nil {
		t.Fatal(err)
	}
}

// put stores an object of the bytes that digest stands for.
func put(db *DB, key, digest string) (ledger.Committed, error) {
	ctx := context.Background()
	blob := lethe.RandomID(db.engine.HighestTime())
	if _, err := db.Begin(ctx, ledger.Intent{ID: blob, Backend: "disk", Size: 100}); err != nil {
		return ledger.Committed{}, err
	}
	return db.Commit(ctx, commitOf(db, key, ledger.Uploaded{Blob: blob, Size: 100, Digest: digest}))
}

func commitOf(db *DB, key string, up ledger.Uploaded) ledger.Commit {
	return ledger.Commit{
		Op: lethe.RandomID(db.engine.HighestTime()), What: "put",
		Object:  ledger.Object{Bucket: "b", Key: key, Size: up.Size, ETag: "e-" + up.Digest},
		Content: ledger.ContentKey{Kind: lethe.Whole, Digest: up.Digest, Size: up.Size},
		Blobs:   []ledger.Uploaded{up},
	}
}

func mustPut(t testing.TB, db *DB, key, digest string) ledger.Committed {
	t.Helper()
	c, err := put(db, key, digest)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sound fails the test if a recount finds a difference.
func sound(t testing.TB, db *DB) {
	t.Helper()
	wrong, err := db.Recount(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range wrong {
		t.Error(fmt.Sprint(d))
	}
}
