package sim_test

import "github.com/lethe-storage/lethe/test/sim"

// evictMutants break what eviction promises.
var evictMutants = []mutant{
	{
		name: "evict: the youngest goes first", rule: "what was used longest ago goes first", within: 200, known: 25, in: sim.Evicting, sqlite: true,
		file: "ledger/sqlledger/object_evict.go", old: "AND (used_at, key) > (?6, ?7) ORDER BY used_at, key LIMIT ?3", new: "AND (used_at, key) > (?6, ?7) ORDER BY used_at DESC, key LIMIT ?3",
	}, {
		name: "evict: a hold does not count", rule: "never what is held", within: 500, known: 1013, in: sim.Evicting | sim.Held, sqlite: true,
		file: "ledger/sqlledger/object_evict.go", old: "	if e.bucket.Holds == 0 {\n		return found, nil, nil", new: "	if true {\n		return found, nil, nil",
	}, {
		name: "evict: age does not count", rule: "never younger than the least age", within: 200, in: sim.Evicting, sqlite: true,
		file: "ledger/sqlledger/object_evict.go", old: "before: b.Evict.Before(t.Now), ahead", new: "before: t.Now, ahead",
	}, {
		name: "evict: it goes on beyond the low mark", rule: "no more goes than has to", within: 200, known: 25, in: sim.Evicting, sqlite: true,
		file: "ledger/sqlledger/object_evict.go", old: "			return list[:i+1], true", new: "			return list[:max(i+1, len(list))], true",
	}, {
		name: "evict: a receipt says that it expired", rule: "receipts have the reason", within: 200, in: sim.Evicting, sqlite: true,
		file: "ledger/sqlledger/object_evict.go", old: "gone[i].reason = lethe.ReasonEvicted", new: "gone[i].reason = lethe.ReasonExpiry",
	}, {
		name: "evict: references are not counted down", rule: "shared contents free what they free", within: 200, in: sim.Evicting, sqlite: true,
		file: "ledger/sqlledger/object_evict.go", old: "	return e.reclaimGone(gone, rules, lethe.ReasonEvicted, &e.out.Reclaimed)", new: "	return e.reclaimGone(gone[:len(gone)-1], rules, lethe.ReasonEvicted, &e.out.Reclaimed)",
	},
}

func init() { mutants = append(mutants, evictMutants...) }
