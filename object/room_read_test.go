package object_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// What was read within the least age is not evicted, however old it is.
func TestNothingReadLatelyIsEvicted(t *testing.T) {
	w := newWorld(t, nil)
	w.evicts(2, func(s *ledger.BucketSettings) { s.Evict.MinAge = time.Hour })
	w.fill("a", "b")
	read := func() {
		w.has("a", "body of a")
		w.has("b", "body of b")
		w.must(w.NoteReads(w.ctx))
	}
	w.clock.Advance(20 * time.Hour)
	read()
	w.clock.Advance(59 * time.Minute)
	read()
	w.clock.Advance(2 * time.Minute)
	_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "c", Body: strings.NewReader("x"), Size: 1})
	if !errors.Is(err, lethe.ErrQuotaExceeded) || w.keys() != "a b" {
		t.Errorf("%v; left: %s", err, w.keys())
	}
}

// Reads that a write notes before it evicts are what its client waits for, whoever that is: a paste
// has no id of a request. Those noted each minute are not.
func TestAClientWaitsForTheReadsThatAreNotedForRoom(t *testing.T) {
	w := newWorld(t, nil)
	w.evicts(2, nil)
	w.fill("a", "b")
	w.clock.Advance(time.Hour)
	w.has("b", "body of b")
	w.must(w.NoteReads(w.ctx))
	if w.ledger.noted != 1 || w.ledger.awaited {
		t.Fatalf("%d reads noted in the minute, awaited %t", w.ledger.noted, w.ledger.awaited)
	}
	w.clock.Advance(time.Hour)
	w.has("b", "body of b")
	w.put("c", "new")
	if w.ledger.noted != 2 || !w.ledger.awaited {
		t.Errorf("%d reads noted for room, awaited %t", w.ledger.noted, w.ledger.awaited)
	}
}

// What is read all the time is not evicted before what nobody reads, also where both have a long
// idle time.
func TestWhatIsReadOutlivesWhatIsNot(t *testing.T) {
	w := newWorld(t, nil)
	w.evicts(2, func(s *ledger.BucketSettings) { s.DefaultIdle = 7 * 24 * time.Hour })
	w.fill("read", "unread")
	for range 12 {
		w.clock.Advance(time.Hour)
		w.has("read", "body of read")
		w.must(w.NoteReads(w.ctx))
	}
	w.put("c", "new")
	if got := w.keys(); got != "c read" {
		t.Errorf("left: %s", got)
	}
}
