package interleave_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/internal/mutation"
)

var (
	runMutants = flag.Bool("interleave.mutants", false, "build every mutant and see that a pair shows it")
	onlyMutant = flag.String("interleave.mutant", "", "only the mutants whose name this matches")
	database   = flag.String("interleave.database", "", "an empty database to use, in place of a server of its own")
)

// root is the module's folder, seen from this package's.
const root = "../.."

func (m mutant) patched() mutation.Mutant {
	file := "meta/" + m.file
	edits := []mutation.Edit{{Old: m.old, New: m.new}}
	for _, e := range m.also {
		edits = append(edits, mutation.Edit{Old: e[0], New: e[1]})
	}
	return mutation.Mutant{Name: m.name, Edits: map[string][]mutation.Edit{file: edits}}
}

// TestMutants takes each lock and each second look away: a pair of methods has to show
// that it is missing, or it stands there why none can.
func TestMutants(t *testing.T) {
	chosen := slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return !regexp.MustCompile(*onlyMutant).MatchString(m.name) })
	every := meetings()
	var patched []mutation.Mutant
	for _, m := range chosen {
		patched = append(patched, m.patched())
		if _, err := m.patched().Patches(root); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		for _, pair := range m.pairs {
			if !slices.ContainsFunc(every, func(p []action) bool { return name(p) == pair }) {
				t.Errorf("%s: there is no pair %q", m.name, pair)
			}
		}
	}
	if !*runMutants && *onlyMutant == "" || t.Failed() {
		return
	}
	files, alone, err := mutation.Plant(root, patched)
	if err != nil || len(alone) > 0 {
		t.Fatalf("%v; these need builds of their own: %v", err, alone)
	}
	binary, err := mutation.Build(root, t.TempDir(), files)
	if err != nil {
		t.Fatal(err)
	}
	pg := cluster(t)
	work := make(chan mutant, len(chosen))
	for _, m := range chosen {
		work <- m
	}
	close(work)
	var hunting sync.WaitGroup
	for range *workers {
		hunting.Go(func() {
			for m := range work {
				shown, err := m.hunt(binary, pg.Database())
				switch {
				case err != nil:
					t.Errorf("%-45s could not be run: %v", m.name, err)
				case shown == "" && m.equivalent == "":
					t.Errorf("%-45s SURVIVED %v", m.name, m.pairs)
				case shown != "" && m.equivalent != "":
					t.Errorf("%-45s was held to be equivalent, and is shown by\n%s", m.name, shown)
				case shown == "":
					t.Logf("%-45s equivalent: %s", m.name, m.equivalent)
				default:
					t.Logf("%-45s shown by %s", m.name, shown)
				}
			}
		})
	}
	hunting.Wait()
}

// found is what TestPairs prints of a schedule that came to what it must not.
var found = regexp.MustCompile(`actor 0: ([^\n]*)\n\s*actor 1: ([^\n]*)\n\s*(actor [^\n]*)\n(?s:.*?)It is none of the orders`)

// deadlocked is what TestPairs prints of a deadlock that the order of locks rules out.
var deadlocked = regexp.MustCompile(`_test.go:\d+: ([^\n]*: a deadlock, where locks are taken in one order: [^\n]*)`)

// hunt runs the pairs of a mutant with it awake, and answers the schedule that shows it.
func (m mutant) hunt(binary, url string) (shown string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	var quoted []string
	for _, p := range m.pairs {
		quoted = append(quoted, regexp.QuoteMeta(p))
	}
	cmd := exec.CommandContext(ctx, binary, "-test.run=^TestPairs$", "-interleave.schedules=0", "-interleave.workers=1",
		"-interleave.database="+url, "-interleave.only=^("+strings.Join(quoted, "|")+")$")
	cmd.Env = append(os.Environ(), mutation.Wakes+"="+m.name)
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err == nil || !errors.As(err, &failed) {
		return "", err
	}
	if ends := deadlocked.FindSubmatch(out); ends != nil {
		return string(ends[1]), nil
	}
	shows := found.FindSubmatch(out)
	if shows == nil {
		return "", fmt.Errorf("%w:\n%s", err, out)
	}
	return fmt.Sprintf("%s + %s: %s", shows[1], shows[2], shows[3]), nil
}
