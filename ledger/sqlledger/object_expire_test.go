package sqlledger

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func (l *fixture) expire(b ledger.Batch) ledger.Reclaimed {
	l.t.Helper()
	r, err := l.Expire(l.ctx, b)
	l.ok(err)
	return r
}

// TestExpireLastReference: a content lives as long as one object refers to it,
// and died when the last of them was due, however late the pass comes.
func TestExpireLastReference(t *testing.T) {
	l := newLedger(t)
	first := l.putTTL("a", "same", time.Minute).Object
	second := l.putTTL("b", "same", time.Hour).Object
	l.putTTL("stays", "other", 0)
	l.clock.Advance(time.Minute)
	r := l.expire(ledger.Batch{Limit: 10})
	if r.Objects != 1 || r.Bytes != 100 || r.Blobs != 0 || len(r.Dropped) != 0 || r.More || r.LastDue != first.TTLAt {
		t.Fatalf("first pass: %+v", r)
	}
	l.clock.Advance(3 * time.Hour)
	r = l.expire(ledger.Batch{Limit: 10, After: r.LastDue})
	if r.Objects != 1 || r.Blobs != 1 || r.BlobBytes != 100 || !slices.Equal(r.Dropped, []lethe.ID{second.ContentID}) {
		t.Fatalf("second pass: %+v", r)
	}
	blobs, err := l.ContentBlobs(l.ctx, second.ContentID)
	l.ok(err)
	b := blobs[0]
	if b.State != lethe.Condemned || b.Reason != lethe.ReasonExpiry || b.DiedAt != second.TTLAt || b.DueAt != l.now().Add(readGrace) {
		t.Fatalf("blob %+v", b)
	}
	if n, bytes := l.total(lethe.Live); n != 1 || bytes != 100 {
		t.Errorf("live %d, %d bytes", n, bytes)
	}
	bucket, err := l.Bucket(l.ctx, "b")
	l.ok(err)
	if bucket.Objects != 1 || bucket.Bytes != 100 {
		t.Errorf("bucket %+v", bucket)
	}
	if r := l.expire(ledger.Batch{Limit: 10}); r.Objects != 0 || r.More {
		t.Errorf("nothing is due: %+v", r)
	}
}

// TestExpireBounds: a batch ends at its limit of rows and of blobs, but takes at least one
// object, and reports that more are due.
func TestExpireBounds(t *testing.T) {
	l := newLedger(t)
	for i := range 7 {
		l.putTTL(fmt.Sprint("k", i), fmt.Sprint("d", i/2), time.Minute+time.Duration(i)*time.Second)
	}
	l.clock.Advance(time.Hour)
	r := l.expire(ledger.Batch{Limit: 2, MaxBlobs: 10})
	if r.Objects != 2 || r.Blobs != 1 || !r.More {
		t.Fatalf("by rows: %+v", r)
	}
	// d1 (k2, k3) fits; k4 does not end d2, k5 would.
	r = l.expire(ledger.Batch{Limit: 10, MaxBlobs: 1, After: r.LastDue})
	if r.Objects != 3 || r.Blobs != 1 || !r.More {
		t.Fatalf("by blobs: %+v", r)
	}
	r = l.expire(ledger.Batch{Limit: 2, After: r.LastDue})
	if r.Objects != 2 || r.Blobs != 2 || r.More {
		t.Fatalf("the rest: %+v", r)
	}
}

// TestExpireTakesLargeObject: an object of more blobs than the bound still goes.
func TestExpireTakesLargeObject(t *testing.T) {
	l := newLedger(t)
	l.putTTL("small", "s", time.Minute)
	u := l.upload("large", time.Hour)
	o, err := l.Complete(l.ctx, l.parts(u, 5))
	l.ok(err)
	l.clock.Advance(2 * time.Hour)
	if r := l.expire(ledger.Batch{Limit: 10, MaxBlobs: 3}); r.Objects != 1 || r.Blobs != 1 || !r.More {
		t.Fatalf("the small one alone: %+v", r)
	}
	r := l.expire(ledger.Batch{Limit: 10, MaxBlobs: 3})
	if r.Objects != 1 || r.Blobs != 5 || r.More || !slices.Equal(r.Dropped, []lethe.ID{o.Object.ContentID}) {
		t.Fatalf("the large one: %+v", r)
	}
}

// TestExpireSupersedes: an intent for a key whose object expired meanwhile is not
// finished by proof.
func TestExpireSupersedes(t *testing.T) {
	l := newLedger(t)
	l.putTTL("k", "old", time.Minute)
	_, blob := l.promise("k", "new")
	l.clock.Advance(time.Minute)
	l.expire(ledger.Batch{Limit: 10})
	c, err := l.ClaimIntents(l.ctx, ledger.ClaimRequest{Worker: "w"})
	l.ok(err)
	if len(c.Intents) != 1 || c.Intents[0].Promotion != nil {
		t.Fatalf("%+v", c)
	}
	_, err = l.Promote(l.ctx, c.Fence, blob, lethe.BlockSums{})
	l.refused(err, lethe.ErrPreconditionFailed)
}

func TestExpireBacklog(t *testing.T) {
	l := newLedger(t)
	var ends []lethe.Time
	for i := range 4 {
		ends = append(ends, l.putTTL(fmt.Sprint("k", i), "d", time.Duration(i)*time.Minute).Object.TTLAt)
	}
	l.clock.Advance(2 * time.Minute)
	b, err := l.ExpireBacklog(l.ctx)
	l.ok(err)
	if want := (ledger.Backlog{Count: 2, Bytes: 200, Oldest: ends[1], NextDue: ends[3], Scheduled: 1}); b != want {
		t.Errorf("backlog %+v, want %+v", b, want)
	}
}
