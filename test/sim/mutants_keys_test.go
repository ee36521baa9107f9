package sim_test

import "github.com/lethe-storage/lethe/test/sim"

// keyMutants break what the times to live of access keys promise.
var keyMutants = []mutant{
	{
		name: "keys: a put forgets the key's times", rule: "what a key writes ends as the key demands", within: 100, in: sim.Keyed,
		file: "object/put.go", old: "TTL: w.r.TTL, ByKey: w.r.ByKey,", new: "TTL: w.r.TTL,",
	}, {
		name: "keys: a copy forgets the key's times", rule: "what a key writes ends as the key demands", within: 500, in: sim.Keyed,
		file: "object/copy.go", old: "TTL: r.TTL, ByKey: r.ByKey, Object:", new: "TTL: r.TTL, Object:",
	}, {
		name: "keys: a completion forgets the key's times", rule: "what a key writes ends as the key demands", within: 500, in: sim.Keyed,
		file: "object/multipart.go", old: "TTL: up.TTL, ByKey: r.ByKey,", new: "TTL: up.TTL,",
	}, {
		name: "keys: the longest life is only a default", rule: "what a key writes ends as the key demands", within: 100, in: sim.Keyed,
		file: "ledger/precondition.go", old: "shorter(b.MaxTTL, wish.ByKey.Max)\n", new: "b.MaxTTL\n",
	},
}

func init() { mutants = append(mutants, keyMutants...) }
