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
	forks    = flag.Int("sim.forks", 300, "how many schedules of two ledgers over the same backends to run")
	restores = flag.Int("sim.restores", 300, "how many schedules of a restored ledger to run")
	fork     = flag.Uint64("sim.fork", 0, "run only this seed of them, with its trace")
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

// TestForksFoundBefore runs seeds that once failed.
func TestForksFoundBefore(t *testing.T) {
	for _, s := range []uint64{
		6002799, // an epoch older than the confirmed one reaches a disk that was put in the backend's place
	} {
		if r := sim.RunForks(sim.Config{Seed: s}); r.Err != nil {
			t.Errorf("-sim.fork=%d: %v", s, r.Err)
		}
	}
}

// TestRestored runs schedules in which a backup from before blobs were moved is restored.
func TestRestored(t *testing.T) {
	taken := 0
	for s := *first; s < *first+uint64(*restores); s++ {
		r := sim.RunRestored(sim.Config{Seed: s, Keep: true})
		if taken += r.Taken; r.Err != nil {
			t.Fatalf("seed %d: %v\n%s", s, r.Err, strings.Join(r.Trace, "\n"))
		}
	}
	if taken < *restores/20 {
		t.Errorf("in %d schedules %d orphans were taken, want a twentieth", *restores, taken)
	}
}
