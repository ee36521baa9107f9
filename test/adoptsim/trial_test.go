package adoptsim_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/test/adoptsim"
)

var trials = flag.Int("sim.trials", 15, "how many schedules to run of each order of writes under each protection")

// TestWhatEachGuardBuys counts, for each order in which an application writes and each
// protection, the worlds in which it loses bytes that a row refers to. In docs/adopting-limits.md
// stands the table of 1,000.
func TestWhatEachGuardBuys(t *testing.T) {
	t.Parallel()
	lines := []string{"| the application writes | protection | lost | orphans |", "|---|---|---|---|"}
	for _, order := range []adoptsim.Order{adoptsim.UploadFirst, adoptsim.RowFirst, adoptsim.UploadTwice} {
		lost := map[adoptsim.Protection]int{}
		for _, by := range []adoptsim.Protection{adoptsim.Nothing, adoptsim.GraceOnly, adoptsim.AgeCheck, adoptsim.Guard, adoptsim.MoveAway} {
			orphans := 0
			for s := range uint64(*trials) {
				loss, err := adoptsim.Try(s+1, order, by)
				if err != nil {
					t.Fatalf("%s, %s: %v", order, by, err)
				}
				lost[by] += min(loss.Lost, 1)
				orphans += min(loss.Orphans, 1)
				if loss.Lost > 0 && (by == adoptsim.Guard || by == adoptsim.MoveAway) {
					t.Errorf("%s, %s: seed %d lost bytes that a row refers to", order, by, s+1)
				}
			}
			lines = append(lines, fmt.Sprintf("| %s | %s | %d | %d |", order, by, lost[by], orphans))
		}
		if lost[adoptsim.Nothing] == 0 {
			t.Errorf("%s: nothing is lost without a protection", order)
		}
	}
	t.Logf("of %d worlds each\n%s", *trials, strings.Join(lines, "\n"))
}
