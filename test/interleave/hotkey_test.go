package interleave_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/test/interleave/stepwise"
)

// outrun lets actor 1 replace an object over and over, and actor 0 go on only while
// the object is being replaced: whatever that waits for is another one then.
type outrun struct{}

func (outrun) Next(t *stepwise.Trace, can []int) int {
	done := t.Actors[1].Statements
	replacing := len(done) > 0 && strings.HasPrefix(done[len(done)-1].Text, "DELETE FROM objects")
	if slices.Contains(can, 0) && (replacing || !slices.Contains(can, 1)) {
		return 0
	}
	return 1
}

// String names the schedule.
func (outrun) String() string { return "outrun" }

// Whoever deletes or changes an object that others replace all the time loses once
// at most, and then has his turn.
func TestHotKey(t *testing.T) {
	w := newWorld(t, stepwise.Cluster(t).Database())
	replace := func(a *act) (any, error) {
		for range 40 {
			c := ledger.Commit{Op: a.id(), What: "put", Object: ledger.Object{Bucket: "b", Key: "a", ETag: "empty"}}
			if _, err := a.db.Commit(a.ctx, c); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	for _, name := range []string{"Delete a", "Delete a and s", "Update a"} {
		x, _ := named(name)
		c, answers := w.runBeside([]action{x, {name: "Commit over and over", run: replace}}, outrun{})
		for i, a := range answers {
			if strings.HasPrefix(a.text, "error") {
				t.Errorf("%s: actor %d answers %s", name, i, a)
			}
		}
		if turns := strings.Count(strings.Join(c.Steps, "\n"), "actor 0: BEGIN"); turns > 2 {
			t.Errorf("%s: had to begin %d times", name, turns)
		}
		w.sound(name)
		w.reset(w.look())
	}
}
