package memledger_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/memledger"
)

// put writes a body under a key of bucket b.
func put(tb testing.TB, db *memledger.DB, id, key string, ttl time.Duration) ledger.Object {
	tb.Helper()
	digest := strings.Repeat("a", 64)
	must(tb)(db.Begin(tb.Context(), ledger.Intent{ID: lethe.ID(id), Backend: "disk", Size: 9}))
	done, err := db.Commit(tb.Context(), ledger.Commit{
		Op: lethe.ID("op" + id), What: "put", TTL: ttl,
		Object:  ledger.Object{Bucket: "b", Key: key, Size: 9},
		Content: ledger.ContentKey{Kind: lethe.Whole, Digest: digest, Size: 9},
		Blobs:   []ledger.Uploaded{{Blob: lethe.ID(id), Size: 9, Digest: digest}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return done.Object
}

// TestTransitions: the hook is called for every change of state, and for nothing else.
func TestTransitions(t *testing.T) {
	db, c := newDB(t, ledger.Options{})
	var seen []string
	db.OnTransition = func(id lethe.ID, from, to lethe.State) { seen = append(seen, fmt.Sprintf("%s%d%d", id, from, to)) }
	ctx := t.Context()
	put(t, db, "x", "k", time.Minute)
	put(t, db, "y", "l", time.Minute)
	c.Advance(time.Hour)
	must(t)(db.Expire(ctx, ledger.Batch{}))
	c.Advance(time.Hour)
	claimed, err := db.ClaimCondemned(ctx, ledger.ClaimRequest{Worker: "w", Backend: "disk"})
	must(t)(claimed, err)
	must(t)(db.Settle(ctx, ledger.Settlement{Fence: claimed.Fence, Items: []ledger.SettleItem{
		{ID: "x", Result: ledger.Gone}, {ID: "y", Result: ledger.Failed, Dead: true},
	}}))
	must(t)(db.Requeue(ctx, []lethe.ID{"y"}))
	if want := "x01 x12 y01 y13 x23 x30 y34 y43"; strings.Join(seen, " ") != want {
		t.Errorf("transitions %v, want %s", seen, want)
	}
}

// TestAccessors: a checker sees all rows, in order.
func TestAccessors(t *testing.T) {
	db, c := newDB(t, ledger.Options{})
	ctx := t.Context()
	put(t, db, "x", "k", 0)
	o := put(t, db, "y", "a", time.Minute)
	must(t)(db.Begin(ctx, ledger.Intent{ID: "w", Backend: "disk", Size: 5, Promotion: &ledger.Promotion{
		Commit: ledger.Commit{Object: ledger.Object{Bucket: "b", Key: "other"}},
	}}))
	u, err := db.CreateUpload(ctx, ledger.Upload{Bucket: "b", Key: "u"})
	must(t)(u, err)
	must(t)(db.CommitPart(ctx, ledger.PartCommit{Part: ledger.Part{UploadID: u.ID, Number: 3}}))
	must(t)(db.ConfigureBucket(ctx, "b", ledger.BucketSettings{Undo: time.Hour}, nil))
	must(t)(db.Delete(ctx, ledger.Deletion{Bucket: "b", Items: []ledger.DeleteItem{{Key: "k"}}}))
	c.Advance(time.Hour)
	var have []string
	see := func(format string, args ...any) { have = append(have, fmt.Sprintf(format, args...)) }
	for b := range db.EachBlob() {
		see("%s=%s", b.ID, b.State)
	}
	for c := range db.EachContent() {
		see("refs=%d", c.Refs)
	}
	for o := range db.EachObject() {
		see("key=%s", o.Key)
	}
	for e := range db.EachTrash() {
		see("trash=%s", e.Object.Key)
	}
	for u := range db.EachUpload() {
		see("upload=%s", u.Key)
	}
	for p := range db.EachPart() {
		see("part=%d", p.Number)
	}
	for b := range db.EachBucket() {
		see("bucket=%s,%d,%d", b.Name, b.Objects, b.Bytes)
	}
	for x := range db.EachTotal() {
		see("%s=%d,%d", x.State, x.Blobs, x.Bytes)
	}
	want := []string{"w=pending", "x=live", "y=condemned", "refs=2", "key=a", "trash=k", "upload=u", "part=3", "bucket=b,1,9",
		"live=0,0", "pending=1,5", "live=1,9", "condemned=1,9", "dead=0,0"}
	if !slices.Equal(have, want) {
		t.Errorf("rows are %v, want %v", have, want)
	}
	row, ok := db.Object("b", "a")
	if !ok || row.ID != o.ID || db.Now() >= c.Now() {
		t.Errorf("object %+v, now %s", row, db.Now())
	}
	if b, ok := db.Blob("x"); !ok || b.State != lethe.Live {
		t.Errorf("blob is %+v", b)
	}
	if _, ok := db.Blob("none"); ok {
		t.Error("there is a blob that is not there")
	}
}
