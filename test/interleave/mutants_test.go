package interleave_test

import (
	"testing"

	"github.com/lethe-storage/lethe/test/interleave/stepwise"
	"github.com/lethe-storage/lethe/test/mutation"
)

// root is the module's folder, seen from this package's.
const root = "../.."

// mutants are those of the table.
func mutants() (out []stepwise.Mutant) {
	for _, m := range table {
		edits := []mutation.Edit{{Old: m.old, New: m.new}}
		for _, e := range m.also {
			edits = append(edits, mutation.Edit{Old: e[0], New: e[1]})
		}
		out = append(out, stepwise.Mutant{
			Mutant: mutation.Mutant{Name: m.name, Edits: map[string][]mutation.Edit{"ledger/sqlledger/" + m.file: edits}},
			Pairs:  m.pairs, Equivalent: m.equivalent,
		})
	}
	return out
}

// TestMutants takes each lock and each second look away: a pair of methods has to show
// that it is missing, or it stands there why none can.
func TestMutants(t *testing.T) { stepwise.TestMutants(t, root, mutants(), meetings()) }
