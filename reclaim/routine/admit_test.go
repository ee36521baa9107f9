package routine_test

import (
	"context"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// TestNothingIsDeletedBeforeTheBackendIsKnown: a process that could not yet look
// at a backend's epoch deletes nothing there (docs/protocol.md, rule 13), and goes on as
// soon as it could.
func TestNothingIsDeletedBeforeTheBackendIsKnown(t *testing.T) {
	w := newWorld(t)
	w.Must(w.Pairing().Advance(w.Ctx, "main"))
	w.Put("k", "body")
	if _, err := w.Ledger.Delete(w.Ctx, ledger.Deletion{Op: w.ID(), Bucket: "b", Items: []ledger.DeleteItem{{Key: "k"}}}); err != nil {
		t.Fatal(err)
	}
	w.Clock.Advance(w.Safety.ReadGrace)
	clean := &routine.Clean{
		Ledger: w.Ledger, Stores: w.Stores, Store: w.Store, Safety: w.Safety, Limit: 10, Clock: w.Clock, Admit: w.Pairing().Check,
	}
	unlisted := true
	deletes := 0
	w.Fault = func(c blobtest.Call) blobtest.Fault {
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
			if more, err = step(context.Background(), c.Add); !more || err != nil {
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
	if blobs, err := w.Ledger.Blobs(w.Ctx, ledger.BlobQuery{States: []lethe.State{lethe.Condemned}}); err != nil || len(blobs) != 0 {
		t.Errorf("%d blobs stay condemned: %v", len(blobs), err)
	}
}
