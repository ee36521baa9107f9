package sim_test

// turnMutants break the turns that buckets take.
var turnMutants = []mutant{
	{
		name: "a turn forgets a bucket", rule: "everything due is gone at the end", within: 4000, sqlite: true,
		file: "ledger/sqlledger/queue_turns.go", old: "			look = append(look, turnRow{Past: q.After[\"\"]})\n", new: "",
		elsewhere: map[string][]edit{"ledger/sqlledger/blob_clean.go": {{
			"WHERE backend = ?1 AND state = 3 AND fence = 0 AND due_at BETWEEN ?2 AND ?3 AND (?7",
			"WHERE backend = ?1 AND state = 3 AND fence = 0 AND bucket_id <> '' AND due_at BETWEEN ?2 AND ?3 AND (?7",
		}}},
	}, {
		name: "a turn does not wait for readers", rule: "18: readers finish", within: 20000,
		file: "ledger/memledger/due.go", old: "return b.dueSince(0, db.now), true", new: "return b.dueSince(0, db.now.Add(1<<46)), true",
	},
}

func init() { mutants = append(mutants, turnMutants...) }
