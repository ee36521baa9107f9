package sim_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/test/mutation"
	"github.com/lethe-storage/lethe/test/sim"
)

var (
	runMutants = flag.Bool("sim.mutants", false, "build every mutant and see that the simulation finds it")
	onlyMutant = flag.String("sim.mutant", "", "only the mutants whose name holds this")
)

// TestMutants plants each break of the protocol into the real code and runs the
// simulation on it: a mutant that survives is a hole in the oracle, and one that
// no longer applies must be written anew.
func TestMutants(t *testing.T) {
	all := allMutants()
	for _, m := range all {
		if _, err := m.patched().Patches(root); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		if n := m.schedule(m.known); n > m.within || m.known != 0 && n == 0 {
			t.Errorf("%s: seed %d is schedule %d of its kind, want one of the first %d", m.name, m.known, n, m.within)
		}
	}
	if !*runMutants && *onlyMutant == "" {
		for _, m := range all {
			t.Logf("%-70s %s", m.name, m.rule)
		}
		t.Skipf("%d patches apply; run them with -sim.mutants", len(all))
	}
	if t.Failed() {
		return
	}
	chosen := slices.DeleteFunc(all, func(m mutant) bool { return !strings.Contains(m.name, *onlyMutant) })
	field := sow(t, chosen)
	var mu sync.Mutex
	var wg sync.WaitGroup
	work := make(chan mutant)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for m := range work {
				begun := lethe.Monotonic{}.Now()
				found, err := field.hunt(t.TempDir(), m)
				mu.Lock()
				v := m.verdict(found, err)
				v.text += fmt.Sprintf(" after %s", lethe.Monotonic{}.Now().Sub(begun).Round(100*time.Millisecond))
				t.Log(v.text)
				if !v.ok {
					t.Errorf("%s", v.text)
				}
				mu.Unlock()
			}
		})
	}
	for _, m := range chosen {
		work <- m
	}
	close(work)
	wg.Wait()
}

// allMutants returns every mutant.
func allMutants() []mutant { return append(slices.Clone(mutants), placementMutants...) }

// field is where mutants are hunted: most of them in one build.
type field struct {
	shared string
	alone  map[string]bool
}

// sow builds what the mutants share, and sees that it is sound while they sleep.
func sow(t *testing.T, list []mutant) field {
	var patched []mutation.Mutant
	for _, m := range list {
		patched = append(patched, m.patched())
	}
	files, alone, err := mutation.Plant(root, patched)
	if err != nil {
		t.Fatal(err)
	}
	out := field{alone: map[string]bool{}}
	for _, m := range alone {
		out.alone[m.Name] = true
	}
	if out.shared, err = mutation.Build(root, t.TempDir(), files); err != nil {
		t.Fatalf("mutants in one build; a function's name says whose it is: %v", err)
	}
	none := mutant{within: 500}
	if found, err := none.hunt(out.shared); found != 0 || err != nil {
		t.Fatalf("a build whose mutants sleep: seed %d, %v", found, err)
	}
	t.Logf("%d of %d mutants share a build", len(list)-len(alone), len(list))
	return out
}

func (f field) hunt(dir string, m mutant) (int, error) {
	binary := f.shared
	if f.alone[m.name] {
		files, err := m.patched().Patches(root)
		if err != nil {
			return 0, err
		}
		if binary, err = mutation.Build(root, dir, files); err != nil {
			return 0, err
		}
	}
	return m.hunt(binary)
}

type judgement struct {
	ok   bool
	text string
}

// verdict judges a hunt: found is the seed that showed the mutant, 0 if none did.
func (m mutant) verdict(found int, err error) judgement {
	switch {
	case err != nil:
		return judgement{false, fmt.Sprintf("%-55s could not be run: %v", m.name, err)}
	case m.equivalent != "" && found == 0:
		return judgement{true, fmt.Sprintf("%-55s equivalent, survives %d schedules: %s", m.name, m.within, m.equivalent)}
	case m.equivalent != "":
		return judgement{false, fmt.Sprintf("%-55s was held to be equivalent, but seed %d shows it", m.name, found)}
	case found == 0:
		return judgement{false, fmt.Sprintf("%-55s SURVIVED %d schedules (rule %s)", m.name, m.within, m.rule)}
	}
	how := fmt.Sprintf("seed %d", found)
	if m.known != 0 && uint64(found) != m.known {
		how += fmt.Sprintf(", and not by the known one (%d) any more", m.known)
	}
	return judgement{true, fmt.Sprintf("%-55s found by %s (rule %s)", m.name, how, m.rule)}
}

// schedule is the how many-th schedule of the mutant's kind a seed is; 0: of another
// kind, or none.
func (m mutant) schedule(seed uint64) (n int) {
	if seed == 0 || sim.Kinds(seed)&m.in != m.in {
		return 0
	}
	for s := uint64(1); s <= seed; s++ {
		if sim.Kinds(s)&m.in == m.in {
			n++
		}
	}
	return n
}

// root is the module's folder, seen from this package's.
const root = "../.."

func (m mutant) patched() mutation.Mutant {
	edits := map[string][]edit{m.file: append([]edit{{m.old, m.new}}, m.also...)}
	maps.Copy(edits, m.elsewhere)
	out := mutation.Mutant{Name: m.name, Edits: map[string][]mutation.Edit{}}
	for file, list := range edits {
		for _, e := range list {
			out.Edits[file] = append(out.Edits[file], mutation.Edit{Old: e.old, New: e.new})
		}
	}
	return out
}

// hunt runs the simulation with the mutant awake; it returns the first seed that
// fails, 0 if none does.
func (m mutant) hunt(binary string) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-test.run=^TestHunt$", "-sim.hunt="+strconv.Itoa(m.within), "-sim.in="+strconv.Itoa(int(m.in)), "-sim.sqlite="+strconv.FormatBool(m.sqlite), "-sim.plans="+strconv.FormatBool(m.plans), "-sim.predict="+strconv.FormatBool(m.predicts), "-sim.inline="+strconv.FormatBool(m.inlines), "-sim.known="+strconv.FormatUint(m.known, 10), "-sim.hunt-forks="+strconv.FormatBool(m.forks), "-sim.hunt-restored="+strconv.FormatBool(m.restored))
	cmd.Env = append(os.Environ(), mutation.Wakes+"="+m.name)
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err == nil || !errors.As(err, &failed) {
		return 0, err
	}
	seed := regexp.MustCompile(`found by seed (\d+)`).FindSubmatch(out)
	if seed == nil {
		return 0, fmt.Errorf("%w:\n%s", err, out)
	}
	return strconv.Atoi(string(seed[1]))
}

var (
	hunt   = flag.Int("sim.hunt", 0, "run so many schedules on one core and name the first seed that fails")
	huntIn = flag.Uint("sim.in", 0, "hunt only in worlds that are of all these kinds")
	known  = flag.Uint64("sim.known", 0, "the seed to hunt first")
	among  = flag.Bool("sim.hunt-forks", false, "hunt in schedules of two ledgers")
	after  = flag.Bool("sim.hunt-restored", false, "hunt in schedules of a restored ledger")
)

// TestHunt is what a mutant's binary runs.
func TestHunt(t *testing.T) {
	shows := func(s uint64) {
		c := config(s)
		c.Plans, c.Predict, c.Inline = *plans, *predicts, *inlines
		run := sim.Run
		if *among {
			run = sim.RunForks
		}
		if *after {
			run = sim.RunRestored
		}
		if r := run(c); r.Err != nil {
			t.Fatalf("found by seed %d: %v", s, r.Err)
		}
	}
	if *known != 0 {
		shows(*known)
	}
	in := sim.Kind(*huntIn)
	for s, n := uint64(1), 0; n < *hunt; s++ {
		if sim.Kinds(s)&in == in {
			n++
			shows(s)
		}
	}
}
