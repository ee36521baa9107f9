package sim_test

// ruleMutants break what lifecycle rules rest on.
var ruleMutants = []mutant{
	{
		name: "a rule that is gone goes on ending objects", rule: "21: rules are re-checked where it counts", within: 4000, known: 56, sqlite: true,
		file: "ledger/sqlledger/rules_reapply.go", old: "if d.byRule() && s.rules[d.Bucket].rules.InForce(d.rule) == nil {", new: "if false {",
	}, {
		name: "a retagged object keeps its old end", rule: "stamped when written or retagged", within: 4000, known: 34, sqlite: true,
		file: "ledger/sqlledger/object_update.go", old: "	o.ApplyRules(rules)\n", new: "	_ = rules\n",
	}, {
		name: "stamping anew overwrites the client's time to live", rule: "stamped apart from the client's own", within: 4000, known: 15, sqlite: true,
		file: "ledger/sqlledger/rules_reapply.go", old: "UPDATE objects SET rule_at = t.rule_at,", new: "UPDATE objects SET ttl_at = t.rule_at, rule_at = t.rule_at,",
	}, {
		name: "a restored object has the end that it had", rule: "stamped when written", within: 8000, known: 51, sqlite: true,
		file: "ledger/sqlledger/trash.go", old: "	o.ApplyRules(rules)\n", new: "	_ = rules\n",
	}, {
		name: "stamping anew ends with its first batch", rule: "until no older stamp is left", within: 8000, known: 248, sqlite: true,
		file: "ledger/sqlledger/rules_reapply.go", old: "out.Bucket, out.Seen, out.Done = b.name, len(list), int64(len(list)) < limit",
		new: "out.Bucket, out.Seen, out.Done = b.name, len(list), true",
	}, {
		name: "changed rules do not have objects stamped anew", rule: "an added rule acts as objects are reapplied", within: 4000, known: 15, sqlite: true,
		file: "ledger/sqlledger/rules.go", old: "	return t.beginReapply(id, 0)\n", new: "	return nil\n",
	}, {
		name: "a changed rule keeps its number", rule: "a number names one rule for ever", within: 8000, known: 906, sqlite: true,
		file: "lifecycle/rules.go", old: "out[i].sameEffect(&old[j])", new: "out[i].ID == old[j].ID",
	}, {
		name: "uploads are given up by rules that are gone", rule: "21: rules are re-checked where it counts", within: 20000, known: 2392,
		file: "ledger/memledger/overdue.go", old: "	r, at := u.bucket.rules.Aborts(u.Key, u.CreatedAt)\n	if r == nil || at > db.now {",
		new: "	r, _ := u.bucket.rules.Aborts(u.Key, u.CreatedAt)\n	if r == nil {\n		db.end(u)\n		return \"none\", nil\n	}\n	if false {",
	},
}

func init() { mutants = append(mutants, ruleMutants...) }
