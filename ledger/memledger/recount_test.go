package memledger

import (
	"context"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// filled is a ledger with a row of each kind.
func filled(t *testing.T) *DB {
	t.Helper()
	ctx := context.Background()
	db := New(ledger.Options{})
	check := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(db.AddBackend(ctx, ledger.Backend{ID: "disk"}))
	check(db.CreateBucket(ctx, ledger.Bucket{Name: "b", Owner: "o", BucketSettings: ledger.BucketSettings{Undo: 1 << 40}}))
	digest := strings.Repeat("a", 64)
	for _, key := range []string{"kept", "binned"} {
		id := lethe.ID("blob " + key)
		check(db.Begin(ctx, ledger.Intent{ID: id, Backend: "disk", Size: 3}))
		check(db.Commit(ctx, ledger.Commit{
			Op: lethe.ID(key), Object: ledger.Object{Bucket: "b", Key: key, Size: 3}, TTL: 1 << 50,
			Content: ledger.ContentKey{Kind: lethe.Whole, Digest: digest, Size: 3},
			Blobs:   []ledger.Uploaded{{Blob: id, Size: 3, Digest: digest}},
		}))
	}
	check(db.Delete(ctx, ledger.Deletion{Bucket: "b", Items: []ledger.DeleteItem{{Key: "binned"}}}))
	check(db.CreateUpload(ctx, ledger.Upload{ID: "u", Bucket: "b", Key: "u"}))
	check(db.Begin(ctx, ledger.Intent{ID: "part", Backend: "disk", Size: 3}))
	check(db.CommitPart(ctx, ledger.PartCommit{Part: ledger.Part{UploadID: "u", Number: 1, BlobID: "part", Size: 3, Digest: digest}}))
	check(db.Begin(ctx, ledger.Intent{ID: "pending", Backend: "disk", Size: 3, Promotion: &ledger.Promotion{
		Commit: ledger.Commit{Object: ledger.Object{Bucket: "b", Key: "p"}},
	}}))
	return db
}

// TestRecountFinds: every rule of the recount can fail.
func TestRecountFinds(t *testing.T) {
	breaks := map[string]func(*DB){
		"refs":                 func(db *DB) { db.contents.rows[0].Refs++ },
		"bucket counter":       func(db *DB) { db.buckets.rows[0].Bytes++ },
		"blob counter":         func(db *DB) { db.backends.rows[0].totals[lethe.Live].Blobs-- },
		"object size":          func(db *DB) { db.buckets.rows[0].objects.rows[0].Size++ },
		"trash size":           func(db *DB) { db.trash.rows[0].Object.ContentID = "" },
		"dedup domain":         func(db *DB) { db.contents.rows[0].Domain = "other" },
		"owner of a live blob": func(db *DB) { db.byID["blob kept"].ContentID = "gone" },
		"segments":             func(db *DB) { db.byID["blob kept"].Segment = 1 },
		"digest":               func(db *DB) { db.contents.rows[0].Digest = "other" },
		"part":                 func(db *DB) { db.uploads["u"].parts.rows[0].Digest = "other" },
		"promotion":            func(db *DB) { db.promos["pending"].blob = db.byID["part"] },
		"state":                func(db *DB) { db.byID["blob kept"].Reason = "none" },
		"claim":                func(db *DB) { db.byID["pending"].Claim.At = 5 },
		"blocks":               func(db *DB) { db.byID["blob kept"].Block = 1 },
		"index":                func(db *DB) { db.pending.rows = nil },
		"condemned blob of a referenced content": func(db *DB) {
			b := db.byID["blob binned"]
			b.ContentID, b.Reason = db.contents.rows[0].ID, lethe.ReasonDelete
			db.blobsOf(b.ContentID).put(b)
		},
	}
	for rule, corrupt := range breaks {
		db := filled(t)
		if found, err := db.Recount(context.Background()); len(found) > 0 || err != nil {
			t.Fatalf("before: %+v, %v", found, err)
		}
		corrupt(db)
		found, err := db.Recount(context.Background())
		if err != nil || !finds(found, rule) {
			t.Errorf("%s: found %+v, %v", rule, found, err)
		}
	}
}

func finds(found []ledger.Discrepancy, rule string) bool {
	for _, d := range found {
		if d.What == rule && d.Name != "" {
			return true
		}
	}
	return false
}
