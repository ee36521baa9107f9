package sim_test

import (
	"flag"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/lethe-storage/lethe/test/sim"
)

var (
	forks = flag.Int("sim.forks", 300, "how many schedules of two ledgers over the same backends to run")
	fork  = flag.Uint64("sim.fork", 0, "run only this seed of them, with its trace")
)

// TestForks runs schedules in which a ledger becomes two that are alive at once.
func TestForks(t *testing.T) {
	if *fork != 0 {
		r := sim.RunForks(sim.Config{Seed: *fork, Keep: true})
		t.Log(strings.Join(r.Trace, "\n"))
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		return
	}
	seeds := make(chan uint64)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for s := range seeds {
				if r := sim.RunForks(sim.Config{Seed: s}); r.Err != nil {
					t.Errorf("-sim.fork=%d: %v", s, r.Err)
				}
			}
		})
	}
	for s := *first; s < *first+uint64(*forks) && !t.Failed(); s++ {
		seeds <- s
	}
	close(seeds)
	wg.Wait()
}
