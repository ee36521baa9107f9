package placement

import (
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// A copy on a backend that is down was whole once; whether it still is cannot be
// known.
func TestNothingIsTrimmedBesideACopyThatIsDown(t *testing.T) {
	usage := func(id string) Usage { return Usage{ID: id, Known: true} }
	a, b := usage("a"), usage("b")
	b.Draining = true
	copies := ledger.Placement{
		Content: ledger.Content{ID: "c", Refs: 1},
		Blobs: []ledger.Blob{
			{ID: "1", Backend: "a", State: lethe.Live, ContentID: "c", VerifiedAt: 1},
			{ID: "2", Backend: "b", State: lethe.Live, ContentID: "c", VerifiedAt: 1, Replica: 1},
		},
	}
	for down, trims := range map[string]int{"": 1, "the disk is not there": 0} {
		a.Down = down
		aims := newAims(&Options{Replicas: 2}, []Usage{a, b})
		if p := aims.decide(copies); len(p.trims) != trims || trims == 0 && p.stuck == "" {
			t.Errorf("with %q on the other backend: %s", down, p.String())
		}
	}
}
