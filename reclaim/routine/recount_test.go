package routine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// tallies returns what it is.
type tallies []ledger.Tally

func (t tallies) TallyOrphans(context.Context) ([]ledger.Tally, error) { return t, nil }

// A counter that differs from the rows is a problem, by backend and state; one that
// agrees is none.
func TestRecountReportsDifferences(t *testing.T) {
	var found []reclaim.Problem
	r := &routine.Recount{
		Ledger: tallies{
			{Backend: "a", State: lethe.Condemned, Rows: 3, RowBytes: 30, Counted: 3, CountedBytes: 30},
			{Backend: "b", State: lethe.Dead, Rows: 2, RowBytes: 20, Counted: 2, CountedBytes: 25},
		},
		Events: &reclaim.Events{Found: func(p reclaim.Problem) { found = append(found, p) }},
	}
	counts := &reclaim.Counts{}
	more, err := r.Pass("w")(context.Background(), counts.Add)
	if more || err != nil || counts.Get("problems") != 1 || counts.Get("rows") != 5 || counts.Get("bytes") != 50 {
		t.Errorf("more %v, %v, counts %v", more, err, counts.Map())
	}
	if len(found) != 1 || found[0].Kind != "counter" || found[0].Backend != "b" || found[0].Name != "dead" || !strings.Contains(found[0].Detail, "25") {
		t.Errorf("found %+v", found)
	}
}
