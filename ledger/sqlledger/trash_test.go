package sqlledger

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// undo gives "b" an undo window of an hour.
func (l *fixture) undo() {
	l.t.Helper()
	_, err := l.ConfigureBucket(l.ctx, "b", ledger.BucketSettings{Undo: time.Hour}, nil)
	l.ok(err)
}

func (l *fixture) trash(q ledger.TrashQuery) []ledger.TrashEntry {
	l.t.Helper()
	list, err := l.Trash(l.ctx, q)
	l.ok(err)
	return list
}

// TestRestore: the object comes back as it was, as a new version, and refers to
// the same content.
func TestRestore(t *testing.T) {
	l := newLedger(t)
	l.undo()
	was := l.putTTL("k", "d", 24*time.Hour).Object
	l.remove("k")
	e := l.trash(ledger.TrashQuery{})[0]
	if e.Object.ID != was.ID || e.Object.Bucket != "b" || e.Object.Key != "k" || e.PurgeAt != l.now().Add(time.Hour) || e.Reason != lethe.ReasonDelete {
		t.Fatalf("entry %+v", e)
	}
	l.clock.Advance(time.Minute)
	op := l.id()
	o, err := l.Restore(l.ctx, op, e.ID, false)
	l.ok(err)
	if o.ID != op || o.ContentID != was.ContentID || o.TTLAt != was.TTLAt || o.ModifiedAt != was.ModifiedAt || o.ETag != was.ETag {
		t.Errorf("restored %+v", o)
	}
	if r, err := l.Resolve(l.ctx, "b", "k"); err != nil || r.Object.ID != op {
		t.Errorf("resolved %+v, %v", r, err)
	}
	if out, found, _ := l.Outcome(l.ctx, op); !found || out.ObjectID != op {
		t.Errorf("outcome %+v", out)
	}
	_, err = l.Restore(l.ctx, l.id(), e.ID, false)
	l.refused(err, lethe.ErrTrashNotFound)
	if len(l.trash(ledger.TrashQuery{})) != 0 {
		t.Error("still in the trash")
	}
}

// TestRestoreOver: a key that is taken is not replaced unless that is asked for;
// what is replaced goes the ordinary way.
func TestRestoreOver(t *testing.T) {
	l := newLedger(t)
	l.undo()
	l.putTTL("k", "old", 0)
	newer := l.putTTL("k", "new", 0).Object
	e := l.trash(ledger.TrashQuery{})[0]
	_, err := l.Restore(l.ctx, l.id(), e.ID, false)
	l.refused(err, lethe.ErrPreconditionFailed)
	if len(l.trash(ledger.TrashQuery{})) != 1 {
		t.Fatal("a refusal changes nothing")
	}
	_, err = l.Restore(l.ctx, l.id(), e.ID, true)
	l.ok(err)
	if list := l.trash(ledger.TrashQuery{}); len(list) != 1 || list[0].Object.ID != newer.ID || list[0].Reason != lethe.ReasonOverwrite {
		t.Errorf("trash %+v", list)
	}
}

// TestRestoreElsewhere: another's bucket of the same name gets nothing.
func TestRestoreElsewhere(t *testing.T) {
	l := newLedger(t)
	l.undo()
	l.putTTL("k", "d", 0)
	l.remove("k")
	e := l.trash(ledger.TrashQuery{})[0]
	l.ok(l.DeleteBucket(l.ctx, "b", ""))
	_, err := l.Restore(l.ctx, l.id(), e.ID, false)
	l.refused(err, lethe.ErrNoSuchBucket)
	_, err = l.CreateBucket(l.ctx, ledger.Bucket{Name: "b", Owner: "mallory"})
	l.ok(err)
	_, err = l.Restore(l.ctx, l.id(), e.ID, false)
	l.refused(err, lethe.ErrNoSuchBucket)
	l.ok(l.DeleteBucket(l.ctx, "b", ""))
	_, err = l.CreateBucket(l.ctx, ledger.Bucket{Name: "b", Owner: "alice"})
	l.ok(err)
	_, err = l.Restore(l.ctx, l.id(), e.ID, false)
	l.ok(err)
}

func TestTrashPages(t *testing.T) {
	l := newLedger(t)
	l.undo()
	for i := range 5 {
		key := fmt.Sprint("k", i)
		l.putTTL(key, "d", 0)
		l.remove(key)
		l.clock.Advance(time.Second)
	}
	all := l.trash(ledger.TrashQuery{Bucket: "b"})
	page := l.trash(ledger.TrashQuery{Bucket: "b", After: all[1].ID, Limit: 2})
	if len(all) != 5 || len(page) != 2 || page[0].ID != all[2].ID {
		t.Errorf("all %+v, page %+v", all, page)
	}
	if list := l.trash(ledger.TrashQuery{Prefix: "k3"}); len(list) != 1 || list[0].Object.Key != "k3" {
		t.Errorf("by prefix: %+v", list)
	}
	if list := l.trash(ledger.TrashQuery{Bucket: "other"}); len(list) != 0 {
		t.Errorf("of another bucket: %+v", list)
	}
}

// TestPurge: an entry keeps its reference until its window has passed, or until
// it is purged by hand.
func TestPurge(t *testing.T) {
	l := newLedger(t)
	l.undo()
	first := l.putTTL("a", "a", 0).Object
	second := l.putTTL("b", "b", 0).Object
	l.remove("a")
	at := l.now()
	l.clock.Advance(time.Minute)
	l.remove("b")
	list := l.trash(ledger.TrashQuery{})
	if n, err := l.PurgeTrash(l.ctx, []lethe.ID{list[1].ID, l.id()}); n != 1 || err != nil {
		t.Fatalf("hastened %d, %v", n, err)
	}
	if n, _ := l.PurgeTrash(l.ctx, []lethe.ID{list[1].ID}); n != 0 {
		t.Errorf("hastened %d again", n)
	}
	b, err := l.PurgeBacklog(l.ctx)
	l.ok(err)
	want := ledger.Backlog{Count: 1, Bytes: 100, Oldest: l.now(), NextDue: at.Add(time.Hour), Scheduled: 1}
	if b != want {
		t.Errorf("backlog %+v, want %+v", b, want)
	}
	r, err := l.Purge(l.ctx, ledger.Batch{Limit: 10})
	l.ok(err)
	if r.Objects != 1 || r.Blobs != 1 || r.More || !slices.Equal(r.Dropped, []lethe.ID{second.ContentID}) {
		t.Fatalf("purged %+v", r)
	}
	l.clock.Advance(2 * time.Hour)
	r, err = l.Purge(l.ctx, ledger.Batch{Limit: 10, After: r.LastDue})
	l.ok(err)
	if r.Objects != 1 || r.LastDue != at.Add(time.Hour) {
		t.Fatalf("purged %+v", r)
	}
	blobs, err := l.ContentBlobs(l.ctx, first.ContentID)
	l.ok(err)
	if b := blobs[0]; b.Reason != lethe.ReasonPurge || b.DiedAt != at.Add(time.Hour) || b.State != lethe.Condemned {
		t.Errorf("blob %+v", b)
	}
}

func TestPruneOps(t *testing.T) {
	l := newLedger(t)
	old := l.putTTL("a", "a", 0).Object.ID
	l.clock.Advance(24*time.Hour - time.Microsecond)
	young := l.putTTL("b", "b", 0).Object.ID
	l.clock.Advance(time.Microsecond)
	n, err := l.Prune(l.ctx, 10)
	l.ok(err)
	_, oldFound, _ := l.Outcome(l.ctx, old)
	_, youngFound, _ := l.Outcome(l.ctx, young)
	if n != 1 || oldFound || !youngFound {
		t.Errorf("pruned %d, old %v, young %v", n, oldFound, youngFound)
	}
}

// TestPruneBuckets: a deleted bucket stays until its last object was reclaimed.
func TestPruneBuckets(t *testing.T) {
	l := newLedger(t)
	l.putTTL("k", "d", time.Minute)
	l.clock.Advance(time.Minute)
	l.ok(l.DeleteBucket(l.ctx, "b", ""))
	if n, err := l.Prune(l.ctx, 10); n != 0 || err != nil {
		t.Fatalf("pruned %d, %v", n, err)
	}
	if r := l.expire(ledger.Batch{Limit: 10}); r.Objects != 1 {
		t.Fatalf("expired %+v", r)
	}
	if n, err := l.Prune(l.ctx, 10); n != 1 || err != nil {
		t.Fatalf("pruned %d, %v", n, err)
	}
}
