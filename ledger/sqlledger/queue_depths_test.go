package sqlledger

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// TestDepthsAreBacklogsUpToALimit: depths are the backlogs of the routines, as far as they
// are counted.
func TestDepthsAreBacklogsUpToALimit(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB, _ string) {
		ctx := context.Background()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := db.AddBackend(ctx, ledger.Backend{ID: "main"})
		must(err)
		_, err = db.CreateBucket(ctx, ledger.Bucket{Name: "bucket", Owner: "me"})
		must(err)
		id := func() lethe.ID { return lethe.RandomID(lethe.SystemClock{}.Now()) }
		for i := range 5 {
			lost, blob := id(), id()
			for _, b := range []lethe.ID{lost, blob, id()} {
				_, err = db.Begin(ctx, ledger.Intent{ID: b, Backend: "main", Size: 10})
				must(err)
			}
			must(db.Abandon(ctx, lost, false))
			digest := fmt.Sprintf("a%d", i)
			_, err = db.Commit(ctx, ledger.Commit{
				Op: id(), What: "put", Object: ledger.Object{Bucket: "bucket", Key: digest, Size: 7, TTLAt: lethe.SystemClock{}.Now().Add(time.Microsecond)},
				Content: ledger.ContentKey{Kind: lethe.Whole, Digest: digest, Size: 7}, Blobs: []ledger.Uploaded{{Blob: blob, Size: 7, Digest: digest}},
			})
			must(err)
		}
		for _, limit := range []int{0, 3} {
			d, err := db.Depths(ctx, ledger.DepthQuery{Backends: []string{"main", "none"}, MinAge: time.Nanosecond, Limit: limit})
			must(err)
			for routine, ask := range map[string]func(context.Context) (ledger.Backlog, error){
				"expire": db.ExpireBacklog, "purge": db.PurgeBacklog, "replicate": db.PlaceBacklog,
				"clean": func(ctx context.Context) (ledger.Backlog, error) { return db.CleanBacklog(ctx, "main") },
				"reap":  func(ctx context.Context) (ledger.Backlog, error) { return db.ReapBacklog(ctx, time.Nanosecond) },
			} {
				want, err := ask(ctx)
				must(err)
				if n := min(want.Count, d.Limit); n < want.Count {
					want.Bytes = want.Bytes / want.Count * n
					want.Count = n
				}
				if got := d.Routines[routine]; got != want {
					t.Errorf("limit %d: %s is %+v, want %+v", limit, routine, got, want)
				}
			}
			if n := min(5, d.Limit); d.Routines["expire"].Count != n || d.Clean["main"].Count != n || d.Clean["none"] != (ledger.Backlog{}) {
				t.Errorf("limit %d: %+v", limit, d)
			}
		}
	})
}

// TestDepthsReadIndexesOnly: depths read only the front of indexes.
func TestDepthsReadIndexesOnly(t *testing.T) {
	db := openMemory(t)
	for text, index := range map[string]string{
		expireDepth: "objects_due", purgeDepth: "trash_purge", cleanDepth: "blobs_due",
		reapDepth: "blobs_pending", placeDepth: "placements_due",
	} {
		got := strings.Join(plan(t, db, text), "\n")
		if !strings.Contains(got, "COVERING INDEX "+index) || strings.Contains(got, "TEMP B-TREE") {
			t.Errorf("the plan of %s is\n%s", text, got)
		}
	}
}
