package sim_test

import "github.com/lethe-storage/lethe/reclaim/sim"

// limitMutants break what limits on deletions promise.
var limitMutants = []mutant{
	{
		name: "limits: what went is not counted", rule: "counted in the transaction that deletes", within: 300, known: 62, in: sim.Limited, sqlite: true,
		file: "meta/guards.go", old: "	return may, stopped, t.saveGuard(g)\n", new: "	return may, stopped, nil\n",
	}, {
		name: "limits: what was allowed is not used up", rule: "as many go as were allowed", within: 2000, in: sim.Limited,
		file: "meta/limits.go", old: "	if now < g.FreeUntil && g.FreeN > 0 {", new: "	if false {",
	}, {
		name: "limits: nobody looks ahead", rule: "stopped before the first of them goes", within: 2000, in: sim.Limited,
		file: "meta/limits.go", old: "	return due > 0 && !g.Held(now) && g.Take(now, l, has, due) == 0\n", new: "	return false\n",
	}, {
		name: "limits: stops end when a process starts", rule: "a stop ends when its limit is gone", within: 1000, in: sim.Limited,
		file: "meta/limits.go", old: "		return l.Share > 0 || l.Ask > 0\n", new: "		return false\n",
	},
}

func init() { mutants = append(mutants, limitMutants...) }
