package sim_test

import (
	"testing"

	"github.com/lethe-storage/lethe/test/sim"
)

// What is predicted for an instant is what goes if nobody acts meanwhile: with rules that are
// set and not applied yet, holds, limits, undo windows and shared contents.
func TestPredictions(t *testing.T) {
	schedules := uint64(600)
	if testing.Short() {
		schedules = 200
	}
	for seed := range schedules {
		if r := sim.Run(sim.Config{Seed: seed + 1, Predict: true, Inline: seed%2 == 0}); r.Err != nil {
			t.Fatalf("seed %d: %v", seed+1, r.Err)
		}
	}
}
