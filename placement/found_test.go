package placement_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/placement"
)

// What the simulation found.

// TestABackendToLeaveCanBeNeeded: a content was to leave b to even things out; then
// a was drained, and only b could take its copy.
func TestABackendToLeaveCanBeNeeded(t *testing.T) {
	w := newWorld(t, 2, threeDisks())
	w.put("a", "k", 3000)
	w.replicate()
	w.must(w.db.SetDraining(w.ctx, "b", true))
	w.pass(placement.NewDrain(w.opt))
	w.replicate()
	w.want("copies", w.copies("k"), "a c")
	w.must(w.db.SetDraining(w.ctx, "b", false))
	w.must(w.db.SetDraining(w.ctx, "a", true))
	_, err := w.db.QueuePlacements(w.ctx, []ledger.Subject{{ID: w.blob("k", "a").ContentID, Leave: "b"}})
	w.must(err)
	w.replicate()
	w.want("copies", w.copies("k"), "b c")
}

// stalled is a store whose reads do something before they end.
type stalled struct {
	blob.Store
	during func()
}

func (s stalled) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	in, err := s.Store.Get(ctx, key, offset, length)
	return stalledBody{in, s.during}, err
}

type stalledBody struct {
	io.ReadCloser
	during func()
}

func (b stalledBody) Read(p []byte) (int, error) {
	b.during()
	return b.ReadCloser.Read(p)
}

// TestACopyGivenUpMeanwhileIsNotSent: while the source stalled the content went, and
// its pending copy with it, for longer than the late window: what would have been
// sent then had no row.
func TestACopyGivenUpMeanwhileIsNotSent(t *testing.T) {
	w := newWorld(t, 2, threeDisks())
	w.put("a", "k", 3000)
	done := false
	w.opt.Stores["a"] = stalled{w.backends["a"], func() {
		if done {
			return
		}
		done = true
		_, err := w.db.Delete(w.ctx, ledger.Deletion{Op: w.id(), Bucket: "b", Items: []ledger.DeleteItem{{Key: "k"}}})
		w.must(err)
		w.clean()
		w.clean()
		w.clock.Advance(time.Hour)
	}}
	w.replicate()
	for b := range w.db.EachBlob() {
		w.want("rows left", b.State, lethe.Condemned)
	}
	w.want("bytes without a row", w.backends["b"].Len(), 0)
}

// TestARuinedContentLeavesNoRows: the only copy is damaged; each attempt to copy it
// began an intent that had to be cleaned up.
func TestARuinedContentLeavesNoRows(t *testing.T) {
	w := newWorld(t, 2, threeDisks())
	w.put("a", "k", 3000)
	bad := w.blob("k", "a")
	w.backends["a"].Lose(lethe.BlobKey(w.opt.Store, bad.ID))
	_, err := w.db.MarkSuspect(w.ctx, []lethe.ID{bad.ID}, "missing")
	w.must(err)
	for range 5 {
		w.replicate()
		w.clock.Advance(2 * time.Hour)
	}
	n := 0
	for range w.db.EachBlob() {
		n++
	}
	w.want("rows", n, 1)
	w.must(w.backends["a"].Put(w.ctx, lethe.BlobKey(w.opt.Store, bad.ID), bodyOf("k", 3000), 3000))
	w.replicate()
	w.want("copies once the bytes are back", w.copies("k"), "a b")
}
