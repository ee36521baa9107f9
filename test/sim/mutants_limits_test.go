package sim_test

import (
	"slices"

	"github.com/lethe-storage/lethe/test/sim"
)

// limitMutants break what limits on deletions promise.
var limitMutants = []mutant{
	{
		name: "limits: what went is not counted", rule: "counted in the transaction that deletes", within: 300, known: 62, in: sim.Limited, sqlite: true,
		file: "ledger/sqlledger/limit.go", old: "	return may, tripped, t.saveLimit(g)\n", new: "	return may, tripped, nil\n",
	}, {
		name: "limits: what was allowed is not used up", rule: "as many go as were allowed", within: 2000, in: sim.Limited,
		file: "ledger/limits.go", old: "	if now < g.FreeUntil && g.FreeN > 0 {", new: "	if false {",
	}, {
		name: "limits: nobody looks ahead", rule: "stopped before the first of them goes", within: 2000, known: 118, in: sim.Limited,
		file: "ledger/limits.go", old: "	return due > 0 && !g.Tripped(now) && g.Take(now, l, has, due) == 0\n", new: "	return false\n",
	}, {
		name: "limits: stops end when a process starts", rule: "a stop ends when its limit is gone", within: 1000, in: sim.Limited,
		file: "ledger/limits.go", old: "		return l.Share > 0 || l.Ask > 0\n", new: "		return false\n",
	}, {
		name: "limits: what is stopped is counted as gone", rule: "a row says what went within its hour", within: 500, known: 187, in: sim.Limited,
		file: "ledger/limits.go", old: "		g.Spend(now, may)\n", new: "		g.Spend(now, want)\n",
	}, {
		name: "limits: the hour does not move on", rule: "a row says what went within its hour", within: 500, known: 9, in: sim.Limited, sqlite: true,
		file: "ledger/limits.go", old: "	if g.Hour != g.hour(now) {", new: "	if false {",
	}, {
		name: "limits: what a person allowed is not counted", rule: "a row says what went within its hour", within: 2000, in: sim.Limited,
		file: "ledger/limits.go", old: "	g.Count(now, n)\n", new: "	if now >= g.FreeUntil {\n		g.Count(now, n)\n	}\n",
	}, {
		name: "limits: a claim counts what it asked for", rule: "a row says what went within its hour", within: 500, known: 13, in: sim.Limited, sqlite: true,
		file: "ledger/sqlledger/blob_clean.go", old: "ledger.Limits{Deletes: r.Deletes}, int64(len(out.Blobs))); err != nil {", new: "ledger.Limits{Deletes: r.Deletes}, limit); err != nil {",
	},
}

// rateMutants break how fast backends are asked to delete.
var rateMutants = []mutant{
	{
		name: "rates: what a call deleted is not owed", rule: "no more is deleted a second than is allowed", within: 2000, known: 73, in: sim.Rated,
		file: "reclaim/throttle/rates.go", old: "		take(l.deletes, c.Clock.Now().Time(), deleted)\n", new: "",
	}, {
		name: "rates: calls are not counted", rule: "no more is deleted a second than is allowed", within: 2000, known: 225, in: sim.Rated,
		file: "reclaim/throttle/rates.go", old: "		take(l.calls, now, 1)\n", new: "",
	}, {
		name: "rates: each instance takes the whole", rule: "no more is deleted a second than is allowed", within: 4000, known: 340, in: sim.Rated,
		file: "reclaim/throttle/rates.go", old: "	n := float64(r.instances)\n", new: "	n := 1.0\n",
	}, {
		name: "rates: what is not used is kept", rule: "no more is deleted a second than is allowed", within: 4000, in: sim.Rated,
		file: "reclaim/throttle/rates.go", old: "	l.SetBurstAt(now, max(int(perSecond), 1))", new: "	l.SetBurstAt(now, 1<<20)",
	}, {
		name: "rates: any number of calls at once", rule: "no more is deleted a second than is allowed", within: 2000, known: 854, in: sim.Rated,
		file: "reclaim/throttle/rates.go", old: "x.share.InFlight > 0 && x.running >= x.share.InFlight {", new: "x.share.InFlight > 0 && x.running < 0 {",
	},
}

func init() { mutants = slices.Concat(mutants, limitMutants, rateMutants) }
