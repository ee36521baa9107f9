package sim_test

import "github.com/lethe-storage/lethe/test/sim"

// pairingMutants break what the pairing and doubtful clocks promise.
var pairingMutants = []mutant{
	{
		name: "pairing: what is held is handed out", rule: "13: refuse on doubt", within: 8000, known: 5510, in: sim.Paired,
		file: "ledger/memledger/clean.go", old: "	if b.Held != \"\" {", new: "	if false {",
	}, {
		name: "pairing: late uploads are handed out whatever the clocks say", rule: "13: refuse on doubt", within: 4000, known: 1295, in: sim.Paired,
		file: "ledger/memledger/clean.go", old: "	if db.limitState(limitKey{ledger.LimitClock, backend}).Reason == \"\" {", new: "	if true {",
	}, {
		name: "pairing: a clock that ran back is believed", rule: "13: refuse on doubt", within: 1000, known: 126, in: sim.Paired,
		file: "reclaim/predict/clock.go", old: "	if d := c.ClockBehind(); d > 0 {", new: "	if d := c.ClockBehind(); false {",
	}, {
		name: "pairing: nobody looks before the first delete", rule: "13: no process deletes before it has seen an epoch that fits", within: 1000, known: 67, in: sim.Paired,
		file: "reclaim/routine/clean.go", old: "	if err := k.admit(ctx, backend); err != nil {\n		q.empty", new: "	if err := k.admit(ctx, backend); false {\n		q.empty",
	}, {
		name: "pairing: a newer epoch is taken for ours", rule: "13: the ledger is an older copy", within: 1000, in: sim.Paired,
		file: "reclaim/pairing/pairing.go", old: "	case last == b.Epoch, last == b.Intended:", new: "	case last >= b.Epoch:",
	}, {
		name: "pairing: a refusal is not noted", rule: "13: held, durably", within: 500, in: sim.Paired,
		file: "reclaim/pairing/pairing.go", old: "	switch err := g.Ledger.ChangeHold(ctx, seen, why); {", new: "	switch err := error(nil); {",
	}, {
		name: "pairing: a hold ends without a person", rule: "13: until a person decides", within: 1000, known: 129, in: sim.Paired,
		file: "reclaim/pairing/pairing.go", old: "	case why.For == \"\" && b.HeldFor == ledger.HeldForAbsence:", new: "	case why.For == \"\":",
	}, {
		name: "pairing: only who advances sees who advanced between", rule: "13: two ledgers advance at once", within: 4000, known: 7171, in: sim.Paired,
		file: "reclaim/pairing/pairing.go", old: "	case last == b.Intended && found.between(b.Epoch, last):", new: "	case last == b.Intended && found.between(b.Epoch, last) && false:",
	}, {
		name: "pairing: an acceptance is written before it is noted", rule: "13: an epoch is noted before it is written", within: 6000, known: 23785, in: sim.Paired,
		file: "reclaim/pairing/pairing.go", old: "	if err := g.Ledger.IntendEpoch(ctx, b, next); err != nil {\n		return err\n	}\n	before", new: "	before",
		also: []edit{{"	if err := g.Ledger.AcceptEpoch(ctx, id, next); err != nil {\n", "	if err := errors.Join(g.Ledger.IntendEpoch(ctx, b, next), g.Ledger.AcceptEpoch(ctx, id, next)); err != nil {\n"}},
	}, {
		name: "pairing: a clock that was set forward is believed", rule: "13: nothing goes by age before the clock is confirmed", within: 500, in: sim.Paired,
		file: "ledger/clockjump.go", old: "	if ahead <= j.Most {", new: "	if true {",
	}, {
		name: "pairing: what is due goes whatever the clock", rule: "13: nothing goes by age before the clock is confirmed", within: 1000, in: sim.Paired,
		file: "reclaim/predict/clock.go", old: "	if d := c.ClockAhead(); d > 0 {", new: "	if d := c.ClockAhead(); d < 0 {",
	}, {
		name: "pairing: orphans are condemned in doubt", rule: "13: a walk only reports", within: 1500, known: 2961, in: sim.Paired | sim.Reconciled,
		file: "ledger/memledger/orphans.go", old: "r.Check(b.Backend, db.limitState(limitKey{ledger.LimitClock, r.Backend}).Reason)", new: "r.Check(ledger.Backend{Epoch: b.Epoch, Intended: b.Intended}, \"\")",
		also: []edit{{"	if err := db.trustClock(); err != nil {", "	if err := db.trustClock(); false {"}},
	},
}

// passMutants leave out what the loop asks before each step.
var passMutants = []mutant{
	{
		name: "pass: the ledger in doubt stops nothing", rule: "13: nothing is destroyed before a person confirms the ledger", within: 500, in: sim.Paired,
		file: "reclaim/pass.go", old: "l.unlessUnconfirmed(s.Routine, s.Routine.Pass(worker))", new: "s.Routine.Pass(worker)",
	}, {
		name: "pass: what is held because of the ledger stops nothing", rule: "13: nothing is destroyed before a person confirms the ledger", within: 1000, in: sim.Paired,
		file: "reclaim/pairing/admit.go", old: "		if g.Stores[b.ID] != nil && ledgerInDoubt(b) {", new: "		if g.Stores[b.ID] != nil && false {",
	}, {
		name: "pass: nobody asks whom the backends belong to", rule: "13: before it is known whom they belong to", within: 2000, in: sim.Paired,
		file: "reclaim/pairing/admit.go", old: "	if g.told.Load() || len(g.Stores) == 0 {", new: "	if true {",
	}, {
		name: "pass: a backend without an epoch tells whose it is", rule: "13: before it is known whom they belong to", within: 4000, known: 260, in: sim.Paired,
		file: "reclaim/pairing/pairing.go", old: "	if why.For != ledger.HeldForAbsence {\n		g.told", new: "	if true {\n		g.told",
	}, {
		name: "pass: a held backend hides the doubt", rule: "13: nothing is destroyed before a person confirms the ledger", within: 4000, known: 68, in: sim.Paired,
		file: "reclaim/pairing/pairing.go", old: "	case why.For == ledger.HeldForLedger && b.HeldFor != ledger.HeldForLedger:", new: "	case false:",
	}, {
		name: "pass: a run takes whatever is due", rule: "a run takes no more than it may", within: 500, in: sim.Capped,
		file: "reclaim/pass.go", old: "	if run.counts.Get(cmp.Or(s.Takes, Items))+max(1, begun) <= s.Most {", new: "	if run.counts.Get(cmp.Or(s.Takes, Items))+max(1, begun) <= 1<<40 {",
	}, {
		name: "pass: a run that left nothing is limited", rule: "limited says that more is due", within: 500, in: sim.Capped,
		file: "reclaim/pass.go", old: "	if r, ok := s.Routine.(Backlogged); ok {", new: "	if r, ok := s.Routine.(Backlogged); ok && r == nil {",
	},
}

func init() { mutants = append(append(mutants, pairingMutants...), passMutants...) }
