package service

import (
	"testing"

	"github.com/lethe-storage/lethe"
)

// An outage lasts since it was first noticed, until an answer.
func TestOutages(t *testing.T) {
	var o outages
	for i, step := range []struct {
		name      string
		down      bool
		now, want lethe.Time
	}{
		{"a", false, 1, 0}, {"a", true, 2, 2}, {"b", true, 3, 3}, {"a", true, 4, 2}, {"a", false, 5, 0}, {"a", true, 6, 6}, {"b", true, 7, 3},
	} {
		if got := o.note(step.name, step.down, step.now); got != step.want {
			t.Errorf("step %d: since %d, not %d", i, got, step.want)
		}
	}
}
