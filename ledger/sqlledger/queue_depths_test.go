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

// putDue makes an object that is due at once, of one blob on the backend main.
func putDue(ctx context.Context, db *DB, blob lethe.ID, digest string) error {
	if _, err := db.Begin(ctx, ledger.Intent{ID: blob, Backend: "main", Size: 7}); err != nil {
		return err
	}
	return commitDue(ctx, db, blob, digest)
}

// commitDue ends the intent of the blob.
func commitDue(ctx context.Context, db *DB, blob lethe.ID, digest string) error {
	now := lethe.SystemClock{}.Now()
	_, err := db.Commit(ctx, ledger.Commit{
		Op: lethe.RandomID(now), What: "put", Object: ledger.Object{Bucket: "bucket", Key: digest, Size: 7, TTLAt: now.Add(time.Microsecond)},
		Content: ledger.ContentKey{Kind: lethe.Whole, Digest: digest, Size: 7}, Blobs: []ledger.Uploaded{{Blob: blob, Size: 7, Digest: digest}},
	})
	return err
}

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
			must(commitDue(ctx, db, blob, digest))
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
		reapDepth: "blobs_pending", placeDepth: "placements_due", failingDepth: "blobs_failing",
	} {
		got := strings.Join(plan(t, db, text), "\n")
		if !strings.Contains(got, "COVERING INDEX "+index) || strings.Contains(got, "TEMP B-TREE") {
			t.Errorf("the plan of %s is\n%s", text, got)
		}
	}
}

const (
	soundCopy = `INSERT INTO blobs (id, backend, state, size, digest, content_id, segment, replica, part, created_at, beat_at, died_at, reason,
			due_at, late_until, attempts, last_error, suspect, verified_at, worker, fence, claimed_at)
		SELECT ?2, 'cold', 2, size, digest, content_id, segment, 1, part, created_at, beat_at, 0, '', 0, 0, 0, '', 0, 0, '', 0, 0 FROM blobs WHERE id = ?1`
	deleteFailed = `UPDATE blobs SET state = 3, attempts = ?2, due_at = ?3, last_error = ?4, suspect = 0 WHERE id = ?1`
)

// TestDepthsOfTroubles: failing deletes, suspect blobs with and without a sound copy, and
// what is deferred are counted by backend.
func TestDepthsOfTroubles(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB, _ string) {
		ctx := context.Background()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range []string{"main", "cold"} {
			_, err := db.AddBackend(ctx, ledger.Backend{ID: id})
			must(err)
		}
		_, err := db.CreateBucket(ctx, ledger.Bucket{Name: "bucket", Owner: "me"})
		must(err)
		id := func() lethe.ID { return lethe.RandomID(lethe.SystemClock{}.Now()) }
		blobs := []lethe.ID{id(), id(), id()}
		for i, b := range blobs {
			must(putDue(ctx, db, b, fmt.Sprint("a", i)))
		}
		depths := func() ledger.Depths {
			t.Helper()
			d, err := db.Depths(ctx, ledger.DepthQuery{Backends: []string{"main", "cold"}})
			must(err)
			return d
		}
		if d := depths(); len(d.Failing) != 0 || len(d.Suspects) != 0 || d.Deferred != 0 {
			t.Errorf("at first: %+v", d)
		}
		_, err = db.MarkSuspect(ctx, blobs[:2], "gone")
		must(err)
		must(db.write(ctx, "copy", func(t *tx) error {
			_, err := t.Exec(soundCopy, blobs[0], id())
			return err
		}))
		if d := depths(); d.Suspects["main"] != (ledger.Suspects{Count: 2, Lost: 1}) || len(d.Suspects) != 1 {
			t.Errorf("suspects %+v", d.Suspects)
		}
		must(db.write(ctx, "fail", func(t *tx) error {
			_, err := t.Exec(deleteFailed, blobs[1], 3, 5, "denied")
			if err == nil {
				_, err = t.Exec(deleteFailed, blobs[2], 1, 4, "busy")
			}
			return err
		}))
		if d := depths(); d.Failing["main"] != (ledger.Failing{Count: 2, Attempts: 3, Error: "denied", NextTry: 4}) || len(d.Failing) != 1 || d.Suspects["main"].Lost != 0 {
			t.Errorf("failing %+v, suspects %+v", d.Failing, d.Suspects)
		}
		_, err = db.AddHold(ctx, ledger.Hold{Bucket: "bucket", Scope: ledger.HoldPrefix})
		must(err)
		if b := depths().Routines["expire"]; b.Count != 0 || b.Oldest != 0 || b.Held != 3 {
			t.Errorf("what is held, and not deferred yet, counts as %+v", b)
		}
		_, err = db.Expire(ctx, ledger.Batch{Limit: 10})
		must(err)
		if d := depths(); d.Deferred != 3 {
			t.Errorf("%d are deferred", d.Deferred)
		}
	})
}

// TestDepthsOfCopies: copies that failed for CopyTries are counted while they wait.
func TestDepthsOfCopies(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB, _ string) {
		ctx := context.Background()
		now := lethe.SystemClock{}.Now()
		stuck, other := lethe.RandomID(now), lethe.RandomID(now)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := db.QueuePlacements(ctx, []ledger.Subject{{ID: stuck}, {ID: other}, {ID: lethe.RandomID(now)}})
		must(err)
		want := ledger.Failing{}
		for i := range ledger.CopyTries {
			d, err := db.Depths(ctx, ledger.DepthQuery{})
			must(err)
			if d.Uncopied != want {
				t.Errorf("after %d tries: %+v", i, d.Uncopied)
			}
			claimed, err := db.ClaimPlacements(ctx, ledger.PlacementClaim{Worker: "w", Limit: 2, Lease: time.Hour, Only: []lethe.ID{stuck, other}})
			must(err)
			again, later := lethe.Time(0), claimed.Now.Add(time.Hour)
			if i == ledger.CopyTries-1 {
				again = later
			}
			_, err = db.SettlePlacements(ctx, claimed.Fence, []ledger.PlacementResult{
				{ID: stuck, RetryAt: again, Error: "no room"}, {ID: other, RetryAt: later, Error: "busy"},
			})
			must(err)
			want.NextTry = again
		}
		want.Count, want.Attempts, want.Error = 1, ledger.CopyTries, "no room"
		d, err := db.Depths(ctx, ledger.DepthQuery{})
		must(err)
		if d.Uncopied != want {
			t.Errorf("copies %+v, want %+v", d.Uncopied, want)
		}
	})
}
