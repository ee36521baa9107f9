package sim_test

import (
	"flag"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lethe-storage/lethe/adopt/sim"
)

var (
	schedules = flag.Int("sim.schedules", 500, "how many schedules to run")
	seed      = flag.Uint64("sim.seed", 0, "run only this seed, with its trace")
	moving    = flag.Bool("sim.quarantine", false, "that seed has no guard, and a quarantine")
	first     = flag.Uint64("sim.first", 1, "the first seed")
)

// explore runs schedules on all cores and stops at the first that fails.
func explore(from uint64, n int, quarantine bool) (counts map[string]int, failed uint64, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	counts = map[string]int{}
	next := 0
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				mu.Lock()
				s, stop := from+uint64(next), err != nil || next >= n
				next++
				mu.Unlock()
				if stop {
					return
				}
				r := sim.Run(sim.Config{Seed: s, Quarantine: quarantine})
				mu.Lock()
				for k, v := range r.Counts {
					counts[k] += v
				}
				if r.Err != nil && (err == nil || s < failed) {
					failed, err = s, r.Err
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return counts, failed, err
}

// has is what has to come about, if seldom.
var has = []string{
	"refused", "filled", "drifted", "unlink landed late",
	"expire pastes: returned", "expire pastes: lost", "clean pastes: lost", "clean pastes: kept", "clean pastes: busy",
	"expire pastes: held", "clean pastes: held", "deletes under way of what is held",
	"watchdog pastes: items", "recache pastes: items",
}

// hasMoved is what has to come about with a quarantine.
var hasMoved = []string{
	"broken", "copied to kept/", "copied to content/", "copy landed late", "unlink landed late", "purge landed late", "unreadable for a while",
	"quarantine pastes: restored", "quarantine pastes: purged",
}

// TestSchedules runs many seeds; the trace of one that fails is printed.
func TestSchedules(t *testing.T) {
	if *seed != 0 {
		r := sim.Run(sim.Config{Seed: *seed, Keep: true, Quarantine: *moving})
		t.Log(strings.Join(r.Trace, "\n"))
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		return
	}
	t.Run("guard", func(t *testing.T) { schedule(t, false, has) })
	t.Run("quarantine", func(t *testing.T) { schedule(t, true, hasMoved) })
}

func schedule(t *testing.T, quarantine bool, has []string) {
	counts, failed, err := explore(*first, *schedules, quarantine)
	if err != nil {
		r := sim.Run(sim.Config{Seed: failed, Keep: true, Quarantine: quarantine})
		t.Fatalf("%v\n%s", err, strings.Join(r.Trace, "\n"))
	}
	for _, what := range has {
		if counts[what] == 0 {
			t.Errorf("%d schedules were without %q", *schedules, what)
		}
	}
	var lines []string
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprintf("%8d %s", counts[k], k))
	}
	t.Logf("%d schedules\n%s", *schedules, strings.Join(lines, "\n"))
}

// TestSameSeedSameTrace: a run is a pure function of its seed.
func TestSameSeedSameTrace(t *testing.T) {
	for s := uint64(1); s <= 50; s++ {
		a, b := sim.Run(sim.Config{Seed: s}), sim.Run(sim.Config{Seed: s})
		if a.Hash != b.Hash {
			t.Fatalf("seed %d ran twice with different traces: %s and %s", s, a.Hash, b.Hash)
		}
	}
}
