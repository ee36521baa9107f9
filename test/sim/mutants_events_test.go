package sim_test

import "github.com/lethe-storage/lethe/test/sim"

// eventMutants break what events promise.
var eventMutants = []mutant{
	{
		name: "events: one is written though the write is refused", rule: "an event is of the transaction that made it happen", within: 2000, in: sim.Told,
		file: "ledger/memledger/commit.go", old: "	if err := w.quota(); err != nil {\n		return ledger.Committed{}, err\n	}\n	return db.apply(w), nil", new: "	db.happened(w.bucket, notification.Created(w.What), w.Object, \"\")\n	if err := w.quota(); err != nil {\n		return ledger.Committed{}, err\n	}\n	return db.apply(w), nil",
	}, {
		name: "events: what expires is not told", rule: "none is lost", within: 500, in: sim.Told, sqlite: true,
		file: "ledger/sqlledger/object_expire.go", old: "	if err := t.expired(gone, rules); err != nil {\n		return err\n	}\n", new: "",
	}, {
		name: "events: a late write over an ended object does not tell its end", rule: "none is lost", within: 2000, in: sim.Told,
		file: "ledger/memledger/objects.go", old: "		db.happened(o.bucket, notification.Expired, o.Object, o.EndReason(db.now))\n", new: "",
	}, {
		name: "events: a restored object is not told", rule: "none is lost", within: 2000, in: sim.Told,
		file: "ledger/memledger/trash.go", old: "	db.happened(b, notification.Put, o.Object, notification.ReasonRestored)\n", new: "	_ = notification.Put\n",
	},
}

func init() { mutants = append(mutants, eventMutants...) }
