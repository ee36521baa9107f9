package sim_test

import "github.com/lethe-storage/lethe/test/sim"

// idleMutants break what is promised of objects that are kept as long as they are read.
var idleMutants = []mutant{
	{
		name: "idle: a pass does not wait for the last notes", rule: "notes of the last reads arrive", within: 600, known: 4727, in: sim.Idle,
		file: "ledger/idle.go", old: "	return o.IdleAt.Add(IdleGrace)\n", new: "	return o.IdleAt\n",
	}, {
		name: "idle: a note does not move when the object is due", rule: "what was read stays", within: 500, known: 2748, in: sim.Idle, sqlite: true,
		file: "ledger/sqlledger/object_idle.go", old: "used_at = t.used_at, due_at = t.due_at", new: "used_at = t.used_at, due_at = coalesce(objects.due_at, t.due_at)",
	}, {
		name: "idle: a note is of the key, not the version", rule: "a note is of its version", within: 40, in: sim.Idle, sqlite: true,
		file: "ledger/sqlledger/object_idle.go", old: "o.key = t.key AND o.id = t.id AND", new: "o.key = t.key AND",
		equivalent: "the version in its place was written after the read, so that the read moves its end nowhere",
	}, {
		name: "idle: a note moves the end wherever it was", rule: "at most one row in a tenth", within: 500, known: 89, in: sim.Idle,
		file: "ledger/idle.go", old: "o.IdleFor > 0 && at < o.IdleAt && o.moves(at):", new: "o.IdleFor > 0:",
	}, {
		name: "idle: a read is noted once half of the time has passed", rule: "what was read stays", within: 500, in: sim.Idle,
		file: "ledger/idle.go", old: "	return note || o.moves(at), o.IdleAt.Sub(at) < IdleMargin\n", new: "	return note || o.IdleAt.Sub(at) < o.IdleFor/2, o.IdleAt.Sub(at) < IdleMargin\n",
	}, {
		name: "idle: notes that the ledger refused are dropped", rule: "what was read stays", within: 1000, known: 2133, in: sim.Idle,
		file: "object/readnotes.go", old: "			return err\n		}\n		s.notes.noted(batch)\n", new: "			s.notes.noted(batch)\n			return err\n		}\n		s.notes.noted(batch)\n",
	}, {
		name: "idle: a receipt says that the time to live ended", rule: "receipts have the reason", within: 100, in: sim.Idle,
		file: "ledger/types.go", old: "		return lethe.ReasonIdle\n", new: "		return lethe.ReasonExpiry\n",
	},
}

func init() { mutants = append(mutants, idleMutants...) }
