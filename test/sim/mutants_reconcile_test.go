package sim_test

import "github.com/lethe-storage/lethe/test/sim"

// reconcileMutants break what comparing a backend with the ledger rests on.
var reconcileMutants = []mutant{
	{
		name: "reconcile: orphans are condemned at once", rule: "an orphan is old enough", within: 4000, in: sim.Reconciled,
		file: "reclaim/reconcile/condemn.go", old: "Grace: w.o.Grace, After: after", new: "Grace: 0, After: after",
	}, {
		name: "reconcile: the condemning transaction checks no age", rule: "re-checked in the transaction that condemns", within: 4000, in: sim.Reconciled, sqlite: true,
		file: "ledger/sqlledger/blob_orphans.go", old: "AND first_walk <> last_walk AND first_at <= ?4", new: "AND first_walk <> last_walk AND ?4 >= 0",
		also: []edit{{"if !ok || id.Made() > t.Now.Add(-r.Grace) {", "if !ok {"}},
	}, {
		name: "reconcile: an incomplete listing is believed", rule: "12: an incomplete listing proves nothing", within: 6000, known: 144, in: sim.Reconciled,
		file: "reclaim/reconcile/compare.go", old: "	if err != nil && !errors.Is(err, errEnd) {\n		return candidates{}, fmt.Errorf(\"list %q", new: "	if false {\n		return candidates{}, fmt.Errorf(\"list %q",
		elsewhere: map[string][]edit{"reclaim/reconcile/judge.go": {{"		lies[id] = info\n", "		lies[id], info = nil, nil\n		_ = info\n"}}},
	}, {
		name: "reconcile: the look-up comes before the listing", rule: "listing first, then the look-up", within: 6000, known: 356, in: sim.Reconciled,
		file: "reclaim/reconcile/judge.go", old: "		case known && there == w.backend:\n", new: "		case known && there == \"\":\n",
	}, {
		name: "reconcile: condemned orphans are in no books", rule: "the books are exact at every commit", within: 2000, in: sim.Reconciled, sqlite: true,
		file: "ledger/sqlledger/blob_orphans.go", old: "		t.counts.move(ledger.Move{Backend: b.Backend, From: 0, To: lethe.Condemned, Reason: lethe.ReasonOrphan, Blobs: 1, Bytes: b.Size})\n", new: "		_ = b\n",
	}, {
		name: "reconcile: orphans are forgotten where they were found", rule: "a dead byte never stays", within: 2000, in: sim.Reconciled,
		file: "reclaim/reconcile/walk.go", old: "	return true, w.save(ctx, w.condemn())\n}\n\n// folders compares", new: "	return true, w.save(ctx, w.finish)\n}\n\n// folders compares",
	},
}

func init() { mutants = append(mutants, reconcileMutants...) }
