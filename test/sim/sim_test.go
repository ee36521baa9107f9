package sim_test

import (
	"flag"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/test/sim"
)

var (
	schedules = flag.Int("sim.schedules", 1000, "how many schedules to run")
	seed      = flag.Uint64("sim.seed", 0, "run only this seed, with its trace")
	first     = flag.Uint64("sim.first", 1, "the first seed")
	table     = flag.Bool("sim.table", false, "print the fault matrix, the rarest pairs of faults, and those missed")
	sqlite    = flag.Bool("sim.sqlite", false, "run over SQLite instead of the ledger in memory")
	plans     = flag.Bool("sim.plans", false, "make and apply plans in every world, and not only in one of eight")
	inlines   = flag.Bool("sim.inline", false, "have the instances keep small contents in the ledger")
	predicts  = flag.Bool("sim.predict", false, "begin each quiet end with a prediction, and compare it with what goes")
	full      = flag.Bool("sim.full", false, "demand the coverage of a full run")
)

// TestSchedules runs many seeds; a failure is shrunk and printed as a trace.
func TestSchedules(t *testing.T) {
	if *seed != 0 {
		one(t, *seed)
		return
	}
	started := lethe.Monotonic{}.Now()
	total, failed := explore(*first, *schedules)
	total.Report(os.Stderr)
	seconds := lethe.Monotonic{}.Now().Sub(started).Seconds()
	t.Logf("%.0f schedules/s, %.0f effects/s", float64(total.Runs)/seconds, float64(total.Sum())/seconds)
	if *table {
		total.Table(os.Stderr)
		total.WritePairs(os.Stderr, 20)
	}
	if failed != nil {
		report(t, *failed)
		return
	}
	if total.Median() < 200 {
		t.Errorf("the median schedule has %d effects, want at least 200", total.Median())
	}
	for what, seeds := range total.Lacking {
		t.Errorf("%d schedules of %d were without %s, such as seed %d", len(seeds), total.Runs, what, seeds[0])
	}
	if !*full {
		return
	}
	if cell, n := total.Rarest(); n < 100 {
		t.Errorf("%s was hit %d times, want at least 100", cell, n)
	}
	if total.Overslept < 100 {
		t.Errorf("in %d schedules bytes landed when their intent had gone, want at least 100", total.Overslept)
	}
	if total.Overtaken < 100 {
		t.Errorf("in %d schedules a settle came when its claim had been taken over, want at least 100", total.Overtaken)
	}
	if share := total.PairShare(); share < 0.95 {
		t.Errorf("%.1f %% of the pairs of faults were hit, want 95 %%", 100*share)
	}
}

// explore runs n schedules on all cores and stops at the first that fails. A seed
// whose world is over before it meets a fault is none: another is taken for it.
func explore(from uint64, n int) (*sim.Coverage, *sim.Result) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	total := sim.NewCoverage()
	var failed *sim.Result
	next := 0
	take := func() (uint64, bool) {
		mu.Lock()
		defer mu.Unlock()
		next++
		return from + uint64(next) - 1, next <= n && failed == nil
	}
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			mine := sim.NewCoverage()
			for {
				s, ok := take()
				if !ok {
					break
				}
				r := simulate(s)
				if len(r.Faults) == 0 && r.Err == nil {
					mu.Lock()
					n++
					mu.Unlock()
					continue
				}
				mine.Add(r)
				if r.Err != nil {
					mu.Lock()
					failed = &r
					mu.Unlock()
				}
			}
			mu.Lock()
			defer mu.Unlock()
			total.Merge(mine)
		})
	}
	wg.Wait()
	return total, failed
}

func config(seed uint64) sim.Config {
	c := sim.Config{Seed: seed, Plans: *plans || seed%8 == 5, Predict: *predicts || seed%8 == 3, Inline: *inlines || seed%8 >= 6}
	if *sqlite {
		c.NewLedger = sim.NewSQLite
	}
	return c
}

// simulate runs a seed as the flags say.
func simulate(seed uint64) sim.Result { return sim.Run(config(seed)) }

func one(t *testing.T, s uint64) {
	cfg := config(s)
	cfg.Keep = true
	r := sim.Run(cfg)
	t.Log(strings.Join(r.Trace, "\n"))
	if r.Err != nil {
		report(t, r)
	}
}

func report(t *testing.T, r sim.Result) {
	small := sim.Shrink(r, 3000)
	t.Fatalf("%v\n(%s)\nshrunk to %d operations, %d faults %v: %v\n%s", r.Err, r.Violation, small.Ops, len(small.Faults), small.Faults, small.Err, strings.Join(small.Trace, "\n"))
}

// TestSQLiteAgrees: the shipped ledger and the one in memory go through the same
// runs in the same way, to the last answer.
func TestSQLiteAgrees(t *testing.T) {
	for s := uint64(1); s <= 20; s++ {
		cfg := config(s) // as the schedules have it, with plans in some
		cfg.Keep, cfg.NewLedger = true, sim.NewMemory
		a := sim.Run(cfg)
		cfg.NewLedger = sim.NewSQLite
		b := sim.Run(cfg)
		if a.Hash == b.Hash {
			continue
		}
		for i := range min(len(a.Trace), len(b.Trace)) {
			if a.Trace[i] != b.Trace[i] && !strings.Contains(a.Trace[i], " because ") {
				t.Fatalf("seed %d: in memory %q, on SQLite %q", s, a.Trace[i], b.Trace[i])
			}
		}
		t.Fatalf("seed %d: %d steps in memory (%v), %d on SQLite (%v)", s, len(a.Trace), a.Err, len(b.Trace), b.Err)
	}
}

// TestSameSeedSameTrace: a run is a pure function of its seed.
func TestSameSeedSameTrace(t *testing.T) {
	for s := uint64(1); s <= 50; s++ {
		a, b := simulate(s), simulate(s)
		if a.Hash != b.Hash {
			t.Fatalf("seed %d ran twice with different traces: %s and %s", s, a.Hash, b.Hash)
		}
		a, b = sim.RunForks(sim.Config{Seed: s}), sim.RunForks(sim.Config{Seed: s})
		if a.Hash != b.Hash {
			t.Fatalf("seed %d of two ledgers ran twice with different traces: %s and %s", s, a.Hash, b.Hash)
		}
	}
}
