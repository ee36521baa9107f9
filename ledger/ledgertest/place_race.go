package ledgertest

import (
	"fmt"
	"sync"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func placeRaces() []test {
	two := func(o *ledger.Options) { o.Replicas = 2 }
	return []test{
		{name: "a copy of what is being removed", run: copyWhileRemoved, options: two},
	}
}

// rounds is how often a race runs.
const rounds = 10

// both runs two calls at once.
func both(one, other func() error) (errs [2]error) {
	var wg sync.WaitGroup
	wg.Go(func() { errs[0] = one() })
	wg.Go(func() { errs[1] = other() })
	wg.Wait()
	return errs
}

// copyWhileRemoved: a copy committed while its content goes is condemned as well.
func copyWhileRemoved(w *world) {
	w.tapes()
	for i := range rounds {
		key := fmt.Sprint("k", i)
		w.put(key, "body "+key)
		p, fence := w.misplaced()
		b := w.copying(p.Blobs[0].ID, fence)
		op := w.id()
		errs := both(
			func() error { return w.commitCopy(b, p.Blobs[0].ID, fence) },
			func() error {
				_, err := w.Delete(w.ctx, ledger.Deletion{Op: op, Bucket: bucketName, Items: []ledger.DeleteItem{{Key: key}}})
				return err
			})
		w.ok(errs[1])
		if errs[0] != nil {
			w.fails(errs[0], lethe.ErrContentGone)
		}
		equal(w, "state of the copy", w.row(b.ID).State, lethe.Condemned)
		w.sound()
		must(w.SettlePlacements(w.ctx, fence, []ledger.PlacementResult{{ID: p.ID, Done: true}}))(w)
	}
}
