package object_test

import (
	"testing"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/intercept"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/object"
)

// reaching is a store on the world's ledger with these backends.
func (w *world) reaching(backends map[string]blob.Store) *world {
	w.t.Helper()
	who, err := w.db.Identity(w.ctx)
	w.must(err)
	out := &world{t: w.t, ctx: w.ctx, clock: w.clock, db: w.db, backends: w.backends}
	out.Store, err = object.New(object.Options{
		Ledger: ledgertest.ForObjects(w.db), Backends: backends, StoreID: who.ID, Clock: w.clock, Small: small, MinPart: 5,
	})
	w.must(err)
	return out
}

// Bytes that exist already are acknowledged only if they can be read: where
// their only backend is not configured any more, or is known to be down, those
// that were sent stay as one more copy.
func TestUnreachableContentIsStoredAgain(t *testing.T) {
	for _, body := range []string{"small", string(make([]byte, 2*small))} {
		for _, configured := range []bool{false, true} {
			w := newWorld(t, nil)
			backends := map[string]blob.Store{"disk2": w.backends["disk2"]}
			w.reaching(map[string]blob.Store{"disk1": w.backends["disk1"]}).put("old", body)
			if configured {
				guard := new(intercept.MountGuard)
				guard.Shut("its disk is gone")
				backends["disk1"] = intercept.New(w.backends["disk1"], guard)
			}
			second := w.reaching(backends)
			second.put("new", body)
			second.upload("parts", "other", body)
			second.upload("same parts", "other", body)
			for _, key := range []string{"new", "parts", "same parts"} {
				want := body
				if key != "new" {
					want = "other" + body
				}
				if got, err := second.get(key); err != nil || got != want {
					t.Errorf("%s: read %d bytes, %v", key, len(got), err)
				}
			}
			if n := len(w.copies(second.put("again", body))); n != 2 {
				t.Errorf("%d copies, want the one that cannot be read and one that can", n)
			}
		}
	}
}
