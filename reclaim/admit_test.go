package reclaim_test

import (
	"context"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
)

// TestNothingIsDeletedBeforeTheBackendIsKnown: a process that could not yet look
// at a backend's epoch deletes nothing there (docs/protocol.md, rule 13), and goes on as
// soon as it could.
func TestNothingIsDeletedBeforeTheBackendIsKnown(t *testing.T) {
	w := newWorld(t)
	w.must(w.guard().Advance(w.ctx, "main"))
	w.put("k", "body")
	if _, err := w.ledger.Delete(w.ctx, ledger.Deletion{Op: w.id(), Bucket: "b", Items: []ledger.DeleteItem{{Key: "k"}}}); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(w.safety.ReadGrace)
	clean := &reclaim.Clean{
		Ledger: w.ledger, Stores: w.stores, Store: w.store, Safety: w.safety, Limit: 10, Clock: w.clock, Admit: w.guard().Check,
	}
	unlisted := true
	deletes := 0
	w.fault = func(c blobtest.Call) blobtest.Fault {
		switch {
		case c.Op == blobtest.OpList && unlisted:
			return blobtest.Fault{Kind: blobtest.Down}
		case c.Op == blobtest.OpDelete:
			deletes++
		}
		return blobtest.Fault{}
	}
	pass := func() error {
		step := clean.Pass("test")
		var c reclaim.Counts
		for more, err := true, error(nil); ; {
			if more, err = step(context.Background(), &c); !more || err != nil {
				return err
			}
		}
	}
	if err := pass(); err == nil || deletes != 0 {
		t.Errorf("%d deletes before the epoch was seen; the pass says %v", deletes, err)
	}
	unlisted = false
	if err := pass(); err != nil || deletes != 1 {
		t.Errorf("%d deletes afterwards; the pass says %v", deletes, err)
	}
	if blobs, err := w.ledger.Blobs(w.ctx, ledger.BlobQuery{States: []lethe.State{lethe.Condemned}}); err != nil || len(blobs) != 0 {
		t.Errorf("%d blobs stay condemned: %v", len(blobs), err)
	}
}
