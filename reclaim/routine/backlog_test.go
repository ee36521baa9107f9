package routine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/test/reclaimtest"
)

// A run that took exactly its limit, in a full last batch, is reported as limited
// only if it left something behind.
func TestARunThatLeftNothingIsNotLimited(t *testing.T) {
	const most = 3
	name := func(i int) string { return fmt.Sprint("k", i) }
	for which, of := range map[string]struct {
		begin func(w *world, i int)
		due   time.Duration
		takes string
		make  func(w *world) reclaim.Routine
	}{
		"multipart": {
			func(w *world, i int) { w.left(name(i), "main", "part") }, w0().MultipartStale, "",
			func(w *world) reclaim.Routine {
				return &routine.Uploads{Ledger: w.Ledger, Safety: w.Safety, Limit: most}
			},
		},
		"reap": {
			func(w *world, i int) { w.Intent(name(i), "body", false) }, w0().MinAge, "",
			func(w *world) reclaim.Routine {
				r := w.reap()
				r.Limit, r.Plans = most, w.Ledger
				return r
			},
		},
		"clean": {
			func(w *world, i int) {
				w.Put(name(i), "body "+name(i))
				w.Remove(name(i))
			}, w0().LateWindow, "gone",
			func(w *world) reclaim.Routine {
				r := w.clean()
				r.Limit, r.Plans = most, w.Ledger
				return r
			},
		},
	} {
		for _, n := range []int{most, most + 1} {
			w := newWorld(t)
			for i := range n {
				of.begin(w, i)
			}
			w.Clock.Advance(of.due + time.Hour)
			l := w.Loop(reclaim.Scheduled{Routine: of.make(w), Most: most, Takes: of.takes})
			for _, left := range []int{n - most, 0} {
				got, err := l.Once(w.Ctx, nil)
				w.Must(err)
				reclaimtest.Want(w, fmt.Sprintf("%s of %d: told to be limited with %d left: %v", which, n, left, got), got[which][reclaim.Limited] > 0, left > 0)
			}
		}
	}
}

// w0 are the grace periods of every world.
func w0() reclaim.Safety { return reclaim.Safety{}.WithDefaults() }
