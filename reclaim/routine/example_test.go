package routine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/memledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/test/clocktest"
	"github.com/lethe-storage/lethe/test/reclaimtest"
)

// An object lives for an hour. Expire then removes its row and condemns its blob; after
// the grace for readers Clean deletes the bytes.
func Example() {
	ctx := context.Background()
	clock, bytes := clocktest.New(), memblob.New(memblob.Options{})
	db := memledger.New(ledger.Options{Clock: clock, ReadGrace: time.Minute})
	store, err := putForAnHour(ctx, db, bytes, clock.Now())
	if err != nil {
		fmt.Println(err)
		return
	}
	expire := &routine.Expire{Ledger: db, Batch: ledger.Batch{Limit: 100}}
	clean := &routine.Clean{
		Ledger: db, Stores: map[string]blob.Store{"main": bytes}, Store: store,
		Safety: reclaim.Safety{}.WithDefaults(), Limit: 100, Clock: clock,
	}
	pass := func(what string) {
		var n reclaim.Counts
		for _, r := range []reclaim.Routine{expire, clean} {
			step, more := r.Pass("worker"), true
			for more && err == nil {
				more, err = step(ctx, n.Add)
			}
		}
		fmt.Printf("%s: %d objects expired, %d blobs gone, error %v\n", what, n.Get("objects"), n.Get("gone"), err)
	}
	pass("at once")
	clock.Advance(time.Hour)
	pass("after an hour")
	clock.Advance(time.Minute)
	pass("a minute later")
	// Output:
	// at once: 0 objects expired, 0 blobs gone, error <nil>
	// after an hour: 1 objects expired, 0 blobs gone, error <nil>
	// a minute later: 0 objects expired, 1 blobs gone, error <nil>
}

// putForAnHour writes as package object does: the intent, the bytes, the commit. It
// returns the id of the store.
func putForAnHour(ctx context.Context, db *memledger.DB, bytes blob.Store, now lethe.Time) (lethe.ID, error) {
	self, err := db.Identity(ctx)
	_, errBackend := db.AddBackend(ctx, ledger.Backend{ID: "main"})
	_, errBucket := db.CreateBucket(ctx, ledger.Bucket{Name: "b", Owner: "me"})
	if err := errors.Join(err, errBackend, errBucket); err != nil {
		return "", err
	}
	const body = "hello"
	id := lethe.RandomID(now)
	if _, err := db.Begin(ctx, ledger.Intent{ID: id, Backend: "main", Size: int64(len(body))}); err != nil {
		return "", err
	}
	if err := bytes.Put(ctx, lethe.BlobKey(self.ID, id), strings.NewReader(body), int64(len(body))); err != nil {
		return "", err
	}
	_, err = db.Commit(ctx, ledger.Commit{
		Op: lethe.RandomID(now), What: "put", TTL: time.Hour,
		Object:  ledger.Object{Bucket: "b", Key: "k", Size: int64(len(body))},
		Content: ledger.ContentKey{Kind: lethe.Whole, Digest: reclaimtest.Digest(body), Size: int64(len(body))},
		Blobs:   []ledger.Uploaded{{Blob: id, Size: int64(len(body)), Digest: reclaimtest.Digest(body)}},
	})
	return self.ID, err
}
