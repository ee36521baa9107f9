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
