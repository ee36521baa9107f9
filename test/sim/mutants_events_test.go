package sim_test

import "github.com/lethe-storage/lethe/test/sim"

// eventMutants break what events promise.
var eventMutants = []mutant{
	{
		name: "events: one is written though the write is refused", rule: "an event is of the transaction that made it happen", within: 2000, in: sim.Told,
		file: "ledger/memledger/commit.go", old: "	if err := w.quota(); err != nil {\n		return ledger.Committed{}, err\n	}\n	return db.apply(w), nil", new: "	db.happened(w.bucket, notification.Created(w.What), w.Object, \"\")\n	if err := w.quota(); err != nil {\n		return ledger.Committed{}, err\n	}\n	return db.apply(w), nil",
	}, {
		name: "events: what expires is not told", rule: "none is lost", within: 500, known: 12, in: sim.Told, sqlite: true,
		file: "ledger/sqlledger/object_expire.go", old: "	if err := t.expired(gone, rules); err != nil {\n		return err\n	}\n", new: "",
	}, {
		name: "events: a late write over an ended object does not tell its end", rule: "none is lost", within: 2000, in: sim.Told,
		file: "ledger/memledger/objects.go", old: "		db.happened(o.bucket, notification.Expired, o.Object, o.EndReason(db.now))\n", new: "",
	}, {
		name: "events: a restored object is not told", rule: "none is lost", within: 2000, in: sim.Told,
		file: "ledger/memledger/trash.go", old: "	db.happened(b, notification.Put, o.Object, notification.ReasonRestored)\n", new: "	_ = notification.Put\n",
	}, {
		name: "events: one is marked before it is sent", rule: "at least once", within: 500, in: sim.Told,
		file: "reclaim/routine/deliver.go", old: "	s := d.send(ctx, claimed)\n", new: "	var all []ledger.EventResult\n	for _, e := range claimed.Events {\n		all = append(all, ledger.EventResult{No: e.No, Outcome: ledger.EventDelivered})\n	}\n	_, _ = d.Ledger.SettleEvents(ctx, ledger.EventSettlement{Target: target, Fence: claimed.Fence, Results: all})\n	s := d.send(ctx, claimed)\n",
	}, {
		name: "events: what fails is dropped", rule: "at least once", within: 500, in: sim.Told,
		file: "reclaim/routine/deliver.go", old: "	default:\n		r.Outcome = ledger.EventFailed\n", new: "	default:\n",
	}, {
		name: "events: what follows one that failed is sent", rule: "in order for a key", within: 500, in: sim.Told,
		file: "reclaim/routine/deliver.go", old: "	return r.Outcome == ledger.EventDelivered\n", new: "	return true\n",
	}, {
		name: "events: what follows one that is given up is sent at once", rule: "in order for a key", within: 1000, in: sim.Told,
		file: "reclaim/routine/deliver.go", old: "	return r.Outcome == ledger.EventDelivered\n", new: "	return r.Outcome != ledger.EventFailed\n",
	}, {
		name: "events: claims pass over what waits of the key", rule: "in order for a key", within: 500, in: sim.Told,
		file: "ledger/memledger/events.go", old: "if !due(e) || waits[at] {", new: "if !due(e) {",
	}, {
		name: "events: claims pass over what waits of the key, SQL", rule: "in order for a key", within: 500, known: 12, in: sim.Told, sqlite: true,
		file: "ledger/sqlledger/event_deliver.go", old: "AND f.dead = 0 AND f.no < e.no AND f.due_at > ?2)", new: "AND f.dead = 0 AND f.no < e.no AND f.due_at > ?2 AND f.no < 0)",
	}, {
		name: "events: one is given up at the first refusal", rule: "at least once", within: 500, in: sim.Told,
		file: "reclaim/routine/deliver.go", old: "	return age >= b.MaxAge ||", new: "	return !errors.Is(err, ErrUnreached) || age >= b.MaxAge ||",
	}, {
		name: "events: one that is not answered is tried for ever", rule: "its key goes on", within: 500, in: sim.Told,
		file: "reclaim/routine/deliver.go", old: "	return age >= b.MaxAge || age >= b.GiveUp && (works || !errors.Is(err, ErrUnreached))\n", new: "	_ = works\n	return age >= b.GiveUp && !errors.Is(err, ErrUnreached)\n",
	}, {
		name: "events: a claim that ended is not taken over", rule: "none is lost", within: 500, in: sim.Told,
		file: "ledger/memledger/events.go", old: "	due := func(e *event) bool { return e.Target == c.Target && !e.Dead && e.DueAt <= db.now }\n", new: "	due := func(e *event) bool { return e.Target == c.Target && !e.Dead && e.DueAt <= db.now && e.fence == 0 }\n",
	},
}

func init() { mutants = append(mutants, eventMutants...) }
