package sqlledger

import (
	"context"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// TestMovesAddUpToTheTotals: every move of a committed transaction is reported once, and
// none of a failed one. Together they are the totals.
func TestMovesAddUpToTheTotals(t *testing.T) {
	ctx := context.Background()
	db, err := Open(ctx, Memory, ledger.Options{ReadGrace: time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	told := map[ledger.Move]int64{}
	have := map[lethe.State]int64{}
	db.OnMoves(func(list []ledger.Move) {
		for _, m := range list {
			have[m.From] -= m.Blobs
			have[m.To] += m.Blobs
			told[ledger.Move{From: m.From, To: m.To, Reason: m.Reason}] += m.Blobs
		}
	})
	moveThroughAll(t, db)
	want := map[ledger.Move]int64{
		{To: lethe.Pending}: 2,
		{From: lethe.Pending, To: lethe.Condemned, Reason: lethe.ReasonUploadOrphan}: 1,
		{From: lethe.Pending, To: lethe.Live}:                                        1,
		{From: lethe.Live, To: lethe.Condemned, Reason: lethe.ReasonDelete}:          1,
		{From: lethe.Condemned, Reason: moveConfirmed}:                               1,
		{From: lethe.Condemned, To: lethe.Dead, Reason: moveAttempts}:                1,
	}
	for m, n := range want {
		if told[m] != n {
			t.Errorf("told %d of %+v, want %d", told[m], m, n)
		}
	}
	if len(told) != len(want) {
		t.Errorf("told of %v", told)
	}
	totals, err := db.Totals(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range totals {
		if have[x.State] != x.Blobs {
			t.Errorf("moves leave %d blobs %s, the totals say %d", have[x.State], x.State, x.Blobs)
		}
	}
}

// moveThroughAll takes one blob from its intent to the confirmed end, and another to the
// dead letters.
func moveThroughAll(t *testing.T, db *DB) {
	t.Helper()
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
	blob, lost := id(), id()
	for _, b := range []lethe.ID{blob, lost} {
		_, err = db.Begin(ctx, ledger.Intent{ID: b, Backend: "main", Size: 10})
		must(err)
	}
	must(db.Abandon(ctx, lost, false))
	if err := db.Abandon(ctx, lost, false); err == nil {
		t.Fatal("an intent was abandoned twice")
	}
	digest := "aa"
	_, err = db.Commit(ctx, ledger.Commit{
		Op: id(), What: "put", Object: ledger.Object{Bucket: "bucket", Key: "k", Size: 7},
		Content: ledger.ContentKey{Kind: lethe.Whole, Digest: digest, Size: 7}, Blobs: []ledger.Uploaded{{Blob: blob, Size: 7, Digest: digest}},
	})
	must(err)
	_, err = db.Delete(ctx, ledger.Deletion{Op: id(), Bucket: "bucket", Items: []ledger.DeleteItem{{Key: "k"}}})
	must(err)
	claimed, err := db.ClaimCondemned(ctx, ledger.ClaimRequest{Worker: "w", Backend: "main", Limit: 10})
	must(err)
	s := ledger.Settlement{Fence: claimed.Fence}
	for i, b := range claimed.Blobs {
		s.Items = append(s.Items, ledger.SettleItem{ID: b.ID, Result: []ledger.Result{ledger.Gone, ledger.Failed}[i], Dead: i == 1, Error: "no", RetryAt: claimed.Now})
	}
	_, err = db.Settle(ctx, s)
	must(err)
}
