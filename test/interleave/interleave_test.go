package interleave_test

import (
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/lethe-storage/lethe/test/interleave/stepwise"
)

var triples = flag.Int("interleave.triples", 0, "how many triples of methods run")

// TestPairs runs every two methods that share rows beside each other.
func TestPairs(t *testing.T) {
	t.Logf("%d actions", len(actions()))
	stepwise.TestPairs(t, stepwise.Pairs[action]{Every: meetings(), Mutants: mutants()}, newWorld)
}

// meetings are every two actions that share rows.
func meetings() (pairs []stepwise.Meeting[action]) {
	list := actions()
	for i, x := range list {
		for _, y := range list[i:] {
			if x.meets(y) {
				pairs = append(pairs, stepwise.Meeting[action]{Name: x.name + " + " + y.name, Actions: []action{x, y}})
			}
		}
	}
	return pairs
}

// TestTriples runs three or four methods that share rows beside each other, by chance.
func TestTriples(t *testing.T) {
	list := actions()
	stepwise.Share(t, *triples, newWorld, func(w *world, i int) (sum stepwise.Tally) {
		dice := rand.New(rand.NewPCG(*stepwise.Seed, uint64(1000+i)))
		some := []action{list[dice.IntN(len(list))]}
		size := 3
		if i%20 == 0 {
			size = most
		}
		for len(some) < size {
			if x := list[dice.IntN(len(list))]; x.meets(some[dice.IntN(len(some))]) {
				some = append(some, x)
			}
		}
		for n := range 6 {
			wrong, ran := w.Beside(some, stepwise.Shuffled(uint64(i)<<8+uint64(n)))
			sum.Add(ran)
			if wrong != "" {
				w.Errorf("%s", wrong)
				return sum
			}
		}
		return sum
	})
}
