package sim

import (
	"slices"
	"testing"
)

// inapplicable says which faults a kind of step cannot meet, and why. Writes of backends
// meet all of them.
var inapplicable = []struct {
	steps  string
	faults []Fault
	why    string
}{
	{"ledger writes", []Fault{Down}, "a ledger that cannot be reached answers that nothing was done: not-done"},
	{"ledger writes", []Fault{Partial}, "a transaction is done whole or not at all"},
	{"ledger reads", []Fault{Undone, DoneError, Late, CrashAfter}, "nothing is changed: a lost answer is not-done, and a crash after it is one before the next effect"},
	{"ledger reads", []Fault{Down, Partial}, "an answer is one snapshot or an error"},
	{"backend reads", []Fault{Undone, DoneError, Late, CrashAfter}, "nothing is changed, as for reads of the ledger"},
	{"calls of targets", []Fault{Partial}, "a request has one event: it is taken whole, or not at all"},
	{"backend reads", []Fault{Partial}, "each chunk of a body is a step of its own, read, and a listing that fails has returned half of its keys"},
}

// TestWhatDoesNotApplyHasAReason checks that exactly those cells of the fault matrix are
// not applicable for which inapplicable has a reason.
func TestWhatDoesNotApplyHasAReason(t *testing.T) {
	excused := map[string][]Fault{}
	for _, row := range inapplicable {
		if len(row.why) < 20 {
			t.Errorf("%s %v: %q is no reason", row.steps, row.faults, row.why)
		}
		excused[row.steps] = append(excused[row.steps], row.faults...)
	}
	all := []Fault{NotDone, Undone, DoneError, Late, Down, Partial, CrashBefore, CrashAfter, Zombie}
	for kind, steps := range map[string][]Step{
		"ledger writes": ledgerWrites, "ledger reads": ledgerReads, "backend writes": blobWrites, "backend reads": blobReads, "calls of targets": remote,
	} {
		for _, s := range steps {
			for _, f := range all {
				if applies, excepted := slices.Contains(applicable(s), f), slices.Contains(excused[kind], f); applies == excepted {
					t.Errorf("%s/%s (%s): applicable %v, excepted with a reason %v", s, f, kind, applies, excepted)
				}
			}
		}
	}
}
