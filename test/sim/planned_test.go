package sim_test

import (
	"testing"

	"github.com/lethe-storage/lethe/test/sim"
)

// Plans that are applied long after they were made take nothing that they do not
// name, and nothing that is not due any more.
func TestPlans(t *testing.T) {
	for seed := range uint64(200) {
		if r := sim.Run(sim.Config{Seed: seed + 1, Plans: true}); r.Err != nil {
			t.Fatalf("seed %d: %v", seed+1, r.Err)
		}
	}
}
