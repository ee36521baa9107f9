package sim_test

import "github.com/lethe-storage/lethe/test/sim"

// readMutants break what counted reads promise.
var readMutants = []mutant{
	{
		name: "reads: they are not counted", rule: "never more reads than there may be", within: 100, in: sim.Counted,
		file: "object/get.go", old: "		if err == nil && res.Object.Counted() {", new: "		if false {",
	}, {
		name: "reads: who finds none left is served all the same", rule: "never more reads than there may be", within: 500, known: 208, in: sim.Counted,
		file: "object/get.go", old: "	o, err := s.ledger.Reads.CountRead(ctx, rd.Object)\n", new: "	o, err := s.ledger.Reads.CountRead(ctx, rd.Object)\n	if errors.Is(err, lethe.ErrNoSuchKey) {\n		o, err = rd.Object, nil\n	}\n",
	}, {
		name: "reads: one is taken though none is left", rule: "guarded by what is left", within: 500, known: 208, in: sim.Counted, sqlite: true,
		file: "ledger/sqlledger/object_read.go", old: "AND reads_left > 0 AND ` + visibleAt(``, `?4`) + `", new: "AND reads_left <> 0",
	}, {
		name: "reads: the last one ends nothing", rule: "the last read ends the object", within: 100, known: 23, in: sim.Counted, sqlite: true,
		file: "ledger/sqlledger/object_read.go", old: "CASE WHEN reads_left = 1 THEN ?4 ELSE ttl_at END", new: "ttl_at",
	}, {
		name: "reads: what ended is not due", rule: "it goes at once", within: 100, known: 23, in: sim.Counted, sqlite: true,
		file: "ledger/sqlledger/object_read.go", old: "due_at = CASE WHEN reads_left > 1 THEN due_at WHEN rule_at <> 0 AND rule_at < ?4 THEN rule_at ELSE ?4 END", new: "due_at = due_at",
	}, {
		name: "reads: a cache has the body", rule: "no cache holds it", within: 100, in: sim.Counted,
		file: "object/body.go", old: "	if o.Counted() {\n		return 0\n	}\n	ttl := s.opt.CacheTTL", new: "	ttl := s.opt.CacheTTL",
	}, {
		name: "reads: a copy is made", rule: "no copy is read uncounted", within: 500, in: sim.Counted,
		file: "object/copy.go", old: "	if !o.Counted() {\n		return nil\n	}\n", new: "	if o.ReadsLeft != 1<<40 {\n		return nil\n	}\n",
	}, {
		name: "reads: the trash keeps it", rule: "no undo window", within: 500, in: sim.Counted,
		file: "ledger/memledger/objects.go", old: "	case o.bucket.Undo > 0 && !o.Counted():", new: "	case o.bucket.Undo > 0:",
	}, {
		name: "reads: a new time to live brings it back", rule: "the last read ends the object", within: 100, in: sim.Counted | sim.Held,
		equivalent: "Apply refuses a change after which the object is not visible",
		file:       "ledger/update.go", old: "u.TTL == nil && u.Idle == nil || o.ReadsLeft == AllRead)", new: "u.TTL == nil && u.Idle == nil)",
	}, {
		name: "reads: a receipt says that it expired", rule: "receipts have the reason", within: 100, known: 23, in: sim.Counted, sqlite: true,
		file: "ledger/sqlledger/object_expire.go", old: "l.rule, l.reason = 0, s.EndReason(t.Now)", new: "l.rule, l.reason = 0, lethe.ReasonExpiry",
	},
}

func init() { mutants = append(mutants, readMutants...) }
