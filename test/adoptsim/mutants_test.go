package adoptsim_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/test/adoptsim"
	"github.com/lethe-storage/lethe/test/mutation"
)

var (
	runMutants = flag.Bool("sim.mutants", false, "build every mutant and see that the simulation finds it")
	onlyMutant = flag.String("sim.mutant", "", "only the mutants whose name matches this")
	hunted     = flag.Int("sim.hunt", 0, "run so many schedules on one core and name the first seed that fails")
	census     = flag.Bool("sim.census", false, "tell of every mutant how many of the schedules show it")
)

// root is the module's folder, seen from this package's.
const root = "../.."

// enough is how many schedules have to show a mutant.
const enough = 4000

func (m mutant) patched() mutation.Mutant {
	return mutation.Mutant{Name: m.name, Edits: map[string][]mutation.Edit{m.file: m.edits}}
}

// TestMutants takes each guard away in turn: the simulation has to find a schedule in
// which that costs somebody a paste, serves what has expired, or leaves something
// behind. A mutant that survives is a hole in the oracle, or a guard that buys nothing.
func TestMutants(t *testing.T) {
	for _, m := range mutants {
		if _, err := m.patched().Patches(root); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
	if !*runMutants && *onlyMutant == "" {
		for _, m := range mutants {
			t.Logf("%-75s %s", m.name, m.rule)
		}
		t.Skipf("%d patches apply; run them with -sim.mutants", len(mutants))
	}
	if t.Failed() {
		return
	}
	named := regexp.MustCompile(*onlyMutant)
	chosen := slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool {
		return !named.MatchString(m.name) || *only != "" && *only != string(m.site)
	})
	binary := sow(t, chosen)
	var wg sync.WaitGroup
	work := make(chan mutant)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for m := range work {
				switch found, err := m.hunt(binary, enough); {
				case err != nil:
					t.Errorf("%-60s could not be run: %v", m.name, err)
				case found.seed == 0:
					t.Errorf("%-60s SURVIVED (%s)", m.name, m.rule)
				case *census:
					t.Logf("%-60s found by %d schedules, seed %d first (%s)", m.name, found.by, found.seed, m.rule)
				default:
					t.Logf("%-60s found by seed %d (%s)", m.name, found.seed, m.rule)
				}
			}
		})
	}
	for _, m := range chosen {
		work <- m
	}
	close(work)
	wg.Wait()
}

// sow builds all mutants in one binary, and sees that it is sound while they sleep.
func sow(t *testing.T, list []mutant) (binary string) {
	var patched []mutation.Mutant
	for _, m := range list {
		patched = append(patched, m.patched())
	}
	files, alone, err := mutation.Plant(root, patched)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range alone {
		t.Fatalf("%s changes more than functions", m.Name)
	}
	if binary, err = mutation.Build(root, t.TempDir(), files); err != nil {
		t.Fatalf("mutants in one build; a function's name says whose it is: %v", err)
	}
	for site := range sites {
		if found, err := (mutant{site: site}).hunt(binary, 100); found.seed != 0 || err != nil {
			t.Fatalf("a build whose mutants sleep: seed %d of %s, %v", found.seed, site, err)
		}
	}
	return binary
}

// finds are schedules that show a mutant.
type finds struct{ seed, by int } // the first of them, and with -sim.census how many they are

var (
	foundBy = regexp.MustCompile(`found by seed (\d+)`)
	countOf = regexp.MustCompile(`(\d+) schedules fail`)
)

// hunt runs the simulation with the mutant awake until a seed fails, or in a census over
// all of them.
func (m mutant) hunt(binary string, within int) (found finds, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-test.run=^TestHunt$", "-sim.hunt="+strconv.Itoa(within),
		"-sim.site="+string(m.site), "-sim.census="+strconv.FormatBool(*census))
	cmd.Env = append(os.Environ(), mutation.Wakes+"="+m.name, "GOMAXPROCS=1")
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err == nil || !errors.As(err, &failed) {
		return found, err
	}
	seed := foundBy.FindSubmatch(out)
	if seed == nil {
		return found, fmt.Errorf("%w:\n%s", err, out)
	}
	if n := countOf.FindSubmatch(out); n != nil {
		found.by, _ = strconv.Atoi(string(n[1]))
	}
	found.seed, err = strconv.Atoi(string(seed[1]))
	return found, err
}

// TestHunt is what a mutant's binary runs.
func TestHunt(t *testing.T) {
	n := 0
	for s := uint64(1); s <= uint64(*hunted); s++ {
		r := adoptsim.Run(adoptsim.Config{Seed: s, Site: adoptsim.Site(*only)})
		if r.Err == nil {
			continue
		}
		if n++; n == 1 {
			t.Errorf("found by seed %d: %v", s, r.Err)
		}
		if !*census {
			return
		}
	}
	if n > 0 {
		t.Logf("%d schedules fail", n)
	}
}
