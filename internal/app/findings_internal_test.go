package app

import (
	"maps"
	"testing"

	"github.com/lethe-storage/lethe/reclaim"
)

// TestChecksAreOfTheLastRun: what a complete run no longer finds is not told any more, and
// what one routine found does not end with a run of another.
func TestChecksAreOfTheLastRun(t *testing.T) {
	var c checks
	wants := func(when string, want map[string]int64) {
		t.Helper()
		if got := c.list(); !maps.Equal(got, want) {
			t.Errorf("%s: %v, wanted %v", when, got, want)
		}
	}
	wants("at first", nil)
	c.found(reclaim.Problem{Kind: "books"})
	c.found(reclaim.Problem{Kind: "missing"}) // the ledger knows it as suspect
	c.found(reclaim.Problem{Kind: "counter"})
	wants("while they run", map[string]int64{"books": 1, "counter": 1})
	c.ended("verify")
	c.found(reclaim.Problem{Kind: "books"})
	c.ended("clean")
	wants("in the next run", map[string]int64{"books": 1, "counter": 1})
	c.ended("verify")
	c.ended("recount")
	wants("after two", map[string]int64{"books": 1, "counter": 1})
	c.ended("checksums")
	wants("after a clean one", map[string]int64{"counter": 1})
}
