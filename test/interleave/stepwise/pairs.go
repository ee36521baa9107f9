package stepwise

import (
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	schedules = flag.Int("interleave.schedules", 4, "how many schedules each pair of actions runs; 0: all with one interruption")
	every     = flag.Bool("interleave.all", false, "every two actions that share rows, and not only the pairs that the mutants name")
	only      = flag.String("interleave.only", "", "only pairs that this matches, as 'one + other'")
	workers   = flag.Int("interleave.workers", 3, "how many pairs run at the same time")
	database  = flag.String("interleave.database", "", "an empty database to use, in place of a server of its own")

	runMutants = flag.Bool("interleave.mutants", false, "build every mutant and see that a pair shows it")
	onlyMutant = flag.String("interleave.mutant", "", "only the mutants whose name this matches")
)

// Seed draws schedules.
var Seed = flag.Uint64("interleave.seed", 1, "what draws the schedules and the triples")

// Meeting is actions that run beside each other.
type Meeting[A any] struct {
	Name    string
	Actions []A
}

// World is where actions of a type run.
type World[A any] interface {
	testing.TB
	// Serial returns every order of the actions.
	Serial(list []A) []Serial
	// Beside runs the actions beside each other by a schedule, and returns what is wrong
	// with what came of it: empty if nothing is, Wrong otherwise.
	Beside(list []A, s Schedule) (wrong string, n Tally)
}

// Pairs are the pairs of a test.
type Pairs[A any] struct {
	Every []Meeting[A]
	// MayDeadlock are pairs that PostgreSQL may have to part, with the reason.
	MayDeadlock map[string]string
	Mutants     []Mutant
}

// TestPairs runs pairs beside each other, as the flags say.
func TestPairs[A any, W World[A]](t *testing.T, p Pairs[A], open func(t testing.TB, database string) W) {
	match := regexp.MustCompile(*only)
	hunted := func(name string) bool {
		return slices.ContainsFunc(p.Mutants, func(m Mutant) bool { return slices.Contains(m.Pairs, name) })
	}
	pairs := slices.DeleteFunc(slices.Clone(p.Every), func(pair Meeting[A]) bool {
		return !match.MatchString(pair.Name) || !*every && *only == "" && !hunted(pair.Name)
	})
	t.Logf("%d pairs, of which %d run", len(p.Every), len(pairs))
	if testing.Short() && !*every {
		pairs = pairs[:min(len(pairs), 10)]
	}
	Share(t, len(pairs), open, func(w W, i int) (sum Tally) {
		pair := pairs[i]
		for _, s := range interruptions(w.Serial(pair.Actions), uint64(i)) {
			wrong, n := w.Beside(pair.Actions, s)
			sum.Add(n)
			if wrong != "" {
				w.Errorf("%s", wrong)
				return sum
			}
			if n.Deadlocks > 0 && p.MayDeadlock[pair.Name] == "" {
				w.Errorf("%s: a deadlock, where locks are taken in one order: %s", pair.Name, s)
			}
		}
		if sum.Deadlocks > 0 {
			w.Logf("%s: %d deadlocks in %d schedules: %s", pair.Name, sum.Deadlocks, sum.Schedules, p.MayDeadlock[pair.Name])
		}
		return sum
	})
}

// Wrong is the report of a schedule of actions with these names that came to what none
// of the orders comes to: differs is how it differs from each.
func Wrong(names []string, s Schedule, t *Trace, differs []string) string {
	var who []string
	for i, name := range names {
		who = append(who, fmt.Sprintf("actor %d: %s", i, name))
	}
	return fmt.Sprintf("%s\n%s\n%s\nIt is none of the orders, beside which it differs (- order, + schedule):%s",
		strings.Join(who, "\n"), s, strings.Join(t.Steps, "\n"), strings.Join(differs, ""))
}

// Difference is how the lines of what was had differ from those that were wanted.
func Difference(have, want []string) string {
	var out strings.Builder
	for _, side := range []struct {
		mark       string
		has, lacks []string
	}{{"-", want, have}, {"+", have, want}} {
		for _, line := range side.has {
			if !slices.Contains(side.lacks, line) {
				fmt.Fprintf(&out, "%s %.900s\n", side.mark, line)
			}
		}
	}
	return out.String()
}
