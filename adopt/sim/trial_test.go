package sim_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/adopt/sim"
)

var trials = flag.Int("sim.trials", 15, "how many schedules to run of each order of writes under each protection")

// TestWhatEachGuardBuys counts, for each order in which an application writes and each
// protection, the worlds in which it loses bytes that a row refers to. In docs/adopting-limits.md
// stands the table of 1,000.
func TestWhatEachGuardBuys(t *testing.T) {
	t.Parallel()
	lines := []string{"| the application writes | protection | lost | orphans |", "|---|---|---|---|"}
	for _, order := range []sim.Order{sim.UploadFirst, sim.RowFirst, sim.UploadTwice} {
		lost := map[sim.Protection]int{}
		for _, by := range []sim.Protection{sim.Nothing, sim.GraceOnly, sim.AgeCheck, sim.Guard, sim.MoveAway} {
			orphans := 0
			for s := range uint64(*trials) {
				loss, err := sim.Try(s+1, order, by)
				if err != nil {
					t.Fatalf("%s, %s: %v", order, by, err)
				}
				lost[by] += min(loss.Lost, 1)
				orphans += min(loss.Orphans, 1)
				if loss.Lost > 0 && (by == sim.Guard || by == sim.MoveAway) {
					t.Errorf("%s, %s: seed %d lost bytes that a row refers to", order, by, s+1)
				}
			}
			lines = append(lines, fmt.Sprintf("| %s | %s | %d | %d |", order, by, lost[by], orphans))
		}
		if lost[sim.Nothing] == 0 {
			t.Errorf("%s: nothing is lost without a protection", order)
		}
	}
	t.Logf("of %d worlds each\n%s", *trials, strings.Join(lines, "\n"))
}
