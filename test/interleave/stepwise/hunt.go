package stepwise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/test/mutation"
)

// Mutant is code without a lock, or without a second look.
type Mutant struct {
	mutation.Mutant
	// Pairs are those that are tried, with every interruption.
	Pairs []string
	// Equivalent says why nobody can see it: no pair shows it.
	Equivalent string
}

// TestMutants sees that a pair shows each of the mutants, but for those that nobody can
// see. Without a flag it only sees that they can be made, and that there are such pairs.
// Root is the module's folder. A mutant of a file that is not Go is made by the test
// itself, with Awake.
func TestMutants[A any](t *testing.T, root string, mutants []Mutant, every []Meeting[A]) {
	chosen := slices.DeleteFunc(slices.Clone(mutants), func(m Mutant) bool { return !regexp.MustCompile(*onlyMutant).MatchString(m.Name) })
	var planted []mutation.Mutant
	for _, m := range chosen {
		if _, err := m.Patches(root); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
		if m.inGo() {
			planted = append(planted, m.Mutant)
		}
		for _, pair := range m.Pairs {
			if !slices.ContainsFunc(every, func(p Meeting[A]) bool { return p.Name == pair }) {
				t.Errorf("%s: there is no pair %q", m.Name, pair)
			}
		}
	}
	if !*runMutants && *onlyMutant == "" || t.Failed() {
		return
	}
	files, alone, err := mutation.Plant(root, planted)
	if err != nil || len(alone) > 0 {
		t.Fatalf("%v; these need builds of their own: %v", err, alone)
	}
	binary, err := mutation.Build(root, t.TempDir(), files)
	if err != nil {
		t.Fatal(err)
	}
	hunt{Cluster(t), binary}.all(t, chosen)
}

// inGo says that all that the mutant changes is Go.
func (m Mutant) inGo() bool {
	for name := range m.Edits {
		if path.Ext(name) != ".go" {
			return false
		}
	}
	return true
}

// Awake is what the mutant that this process is changes, if it is one that is not in Go.
func Awake(mutants []Mutant) (edits []mutation.Edit) {
	at := slices.IndexFunc(mutants, func(m Mutant) bool { return m.Name == os.Getenv(mutation.Wakes) })
	if at < 0 || mutants[at].inGo() {
		return nil
	}
	for _, list := range mutants[at].Edits {
		edits = append(edits, list...)
	}
	return edits
}

// hunt is how the mutants that a binary of tests holds are looked for.
type hunt struct {
	databases Databases
	binary    string
}

func (h hunt) all(t *testing.T, mutants []Mutant) {
	work := make(chan Mutant, len(mutants))
	for _, m := range mutants {
		work <- m
	}
	close(work)
	var hunting sync.WaitGroup
	for range *workers {
		hunting.Go(func() {
			for m := range work {
				shown, err := h.shown(m)
				switch {
				case err != nil:
					t.Errorf("%-45s could not be run: %v", m.Name, err)
				case shown == "" && m.Equivalent == "":
					t.Errorf("%-45s SURVIVED %v", m.Name, m.Pairs)
				case shown != "" && m.Equivalent != "":
					t.Errorf("%-45s was held to be equivalent, and is shown by\n%s", m.Name, shown)
				case shown == "":
					t.Logf("%-45s equivalent: %s", m.Name, m.Equivalent)
				default:
					t.Logf("%-45s shown by %s", m.Name, shown)
				}
			}
		})
	}
	hunting.Wait()
}

var (
	// found is what is printed of a schedule that came to what it must not.
	found = regexp.MustCompile(`actor 0: ([^\n]*)\n\s*actor 1: ([^\n]*)\n\s*(actor [^\n]*)\n(?s:.*?)It is none of the orders`)
	// deadlocked is what is printed of a deadlock that the order of locks rules out.
	deadlocked = regexp.MustCompile(`\.go:\d+: ([^\n]*: a deadlock, where locks are taken in one order: [^\n]*)`)
)

// shown runs TestPairs for the pairs of a mutant with it awake, and returns the schedule
// that shows it.
func (h hunt) shown(m Mutant) (shown string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	var quoted []string
	for _, p := range m.Pairs {
		quoted = append(quoted, regexp.QuoteMeta(p))
	}
	cmd := exec.CommandContext(ctx, h.binary, "-test.run=^TestPairs$", "-interleave.schedules=0", "-interleave.workers=1",
		"-interleave.database="+h.databases.Database(), "-interleave.only=^("+strings.Join(quoted, "|")+")$")
	cmd.Env = append(os.Environ(), mutation.Wakes+"="+m.Name)
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
	return fmt.Sprintf("%s: %s", string(shows[1])+" + "+string(shows[2]), shows[3]), nil
}
