package routine_test

import (
	"testing"
	"time"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// Watch ends what dead processes left open, of every routine.
func TestWatchEndsStaleRuns(t *testing.T) {
	w := newWorld(t)
	w.Must(w.Ledger.StartRun(w.Ctx, ledger.Run{ID: w.ID(), Routine: "clean", Worker: "dead"}))
	w.Clock.Advance(w.Safety.ClaimGrace + time.Microsecond)
	w.Must(w.Ledger.StartRun(w.Ctx, ledger.Run{ID: w.ID(), Routine: "expire", Worker: "alive"}))
	var taken []ledger.Run
	watch := &routine.Watch{Ledger: w.Ledger, Safety: w.Safety, Limit: 10, Events: &reclaim.Events{
		RunTakenOver: func(r ledger.Run) { taken = append(taken, r) },
	}}
	var c reclaim.Counts
	_, err := watch.Pass("me")(w.Ctx, c.Add)
	w.Must(err)
	if len(taken) != 1 || taken[0].Worker != "dead" || c.Get("runs") != 1 {
		t.Errorf("taken over: %+v", taken)
	}
}
