package adoptinterleave_test

import (
	"testing"

	"github.com/lethe-storage/lethe/test/interleave/stepwise"
)

// TestPairs runs every two that share rows beside each other, one a method of Lethe.
func TestPairs(t *testing.T) {
	t.Logf("%d actions", len(actions()))
	stepwise.TestPairs(t, stepwise.Pairs[action]{Every: meetings(), MayDeadlock: mayDeadlock, Mutants: mutants()}, newWorld)
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

// mayDeadlock are pairs that PostgreSQL may have to part, with the reason.
var mayDeadlock = map[string]string{}
