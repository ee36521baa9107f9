package sqlledger

import (
	"errors"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
)

// TestPromoteBesideAWrite: a reaper that waits for a key which is being written
// must not put what its intent promised over it.
func TestPromoteBesideAWrite(t *testing.T) {
	db := openServer(t, ledger.Options{})
	setUp(t, db)
	put := func(op, digest string) ledger.Commit {
		blob := lethe.RandomID(lethe.Time(len(op)))
		c := ledger.Commit{
			Op: lethe.ID(op), What: "put", Object: ledger.Object{Bucket: "b", Key: "k", Size: 100, ETag: digest},
			Content: ledger.ContentKey{Kind: lethe.Whole, Digest: digest, Size: 100},
			Blobs:   []ledger.Uploaded{{Blob: blob, Size: 100, Digest: digest}},
		}
		if _, err := db.Begin(t.Context(), ledger.Intent{ID: blob, Backend: "disk", Size: 100, Promotion: &ledger.Promotion{Commit: c}}); err != nil {
			t.Fatal(err)
		}
		return c
	}
	old, fresh := put("old", "old"), put("fresh", "fresh")
	claimed, err := db.ClaimIntents(t.Context(), ledger.ClaimRequest{Worker: "w", Limit: 1})
	if err != nil || len(claimed.Intents) != 1 || claimed.Intents[0].Blob.ID != old.Blobs[0].Blob {
		t.Fatalf("claimed %+v: %v", claimed, err)
	}
	written, end, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- db.write(t.Context(), "write", func(tx *tx) error {
			_, err := tx.commit(fresh, 0)
			close(written)
			<-end
			return err
		})
	}()
	<-written
	promoted := make(chan error, 1)
	go func() {
		_, err := db.Promote(t.Context(), claimed.Fence, old.Blobs[0].Blob, lethe.BlockSums{})
		promoted <- err
	}()
	waitsForLock(t, db)
	close(end)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := <-promoted; !errors.Is(err, lethe.ErrPreconditionFailed) {
		t.Errorf("promoted: %v", err)
	}
	got, err := db.Resolve(t.Context(), "b", "k")
	if err != nil || got.Object.ETag != "fresh" {
		t.Errorf("the key has %+v: %v", got.Object, err)
	}
	sound(t, db)
}

// waitsForLock returns once some session of the database waits for a lock.
func waitsForLock(t *testing.T, db *DB) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 2000 {
		var n int
		err := db.engine.Server.Runners[engine.Request].Pool.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			return
		}
		<-tick.C
	}
	t.Fatal("nobody waits for a lock")
}
