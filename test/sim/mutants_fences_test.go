package sim_test

import "github.com/lethe-storage/lethe/test/sim"

// fenceMutants let what comes after its claim was taken over change rows of others in
// placement's queue.
var fenceMutants = []mutant{
	{
		name: "placements are settled by whoever had them", rule: "transitions name their fence", within: 2000, in: sim.Placed,
		file: "ledger/memledger/placequeue.go", old: "		case m == nil || fence == 0 || m.fence != fence:\n			fenced++", new: "		case m == nil:\n			fenced++",
	}, {
		name: "placements are kept by whoever had them", rule: "transitions name their fence", within: 2000, in: sim.Placed,
		file: "ledger/memledger/placecopy.go", old: "	if m == nil || fence == 0 || m.fence != fence {\n		return fmt.Errorf(\"memledger: placement of", new: "	if m == nil {\n		return fmt.Errorf(\"memledger: placement of",
	},
}

func init() { mutants = append(mutants, fenceMutants...) }
