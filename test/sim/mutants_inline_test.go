package sim_test

// inlineMutants break what is kept in the ledger.
var inlineMutants = []mutant{
	{
		name: "inline bytes stay when their content goes", rule: "23: small bodies need no backend", within: 2000, inlines: true,
		file: "ledger/memledger/contents.go", old: "		db.countInline(c, -1)\n		db.lostInline(c, d.reason)\n", new: "		db.lostInline(c, d.reason)\n",
	}, {
		name: "an inline content is made without its bytes", rule: "23: small bodies need no backend", within: 2000, inlines: true,
		file: "ledger/memledger/contents.go", old: "	if c.Inline {\n		c.body = ", new: "	if duplicate && c.Inline {\n		c.body = ",
	}, {
		name: "bytes known on a backend are referred to although they are not sound", rule: "20: no reference without the bytes", within: 20000, inlines: true,
		file: "ledger/memledger/commit.go", old: "db.open[w.key] == nil || db.trusted(db.open[w.key], w.Reach)", new: "true",
	}, {
		name: "inline bytes leave no receipt", rule: "a receipt for all that goes", within: 2000, inlines: true,
		file: "ledger/memledger/contents.go", old: "		db.lostInline(c, d.reason)\n", new: "",
	}, {
		name: "a plan frees no inline bytes", rule: "what is predicted is what goes", within: 4000, inlines: true, predicts: true,
		file: "ledger/memledger/due.go", old: "		d.BlobBytes = c.Size\n", new: "		d.BlobBytes = 0\n",
	}, {
		name: "a content that was moved into the ledger keeps its blobs", rule: "23: small bodies need no backend", within: 4000, inlines: true,
		file: "ledger/memledger/moves.go", old: "			db.condemn(row, death{reason: lethe.ReasonRebalance, at: db.now, silent: row.State == lethe.Pending, moved: true})\n", new: "_ = row\n",
	}, {
		name: "a content leaves the ledger twice", rule: "23: small bodies need no backend", within: 8000, inlines: true,
		file: "ledger/memledger/placecopy.go", old: "	if c == nil || !c.Inline {\n", new: "	if c == nil {\n",
	}, {
		name: "bytes that were moved out stay in the ledger", rule: "23: small bodies need no backend", within: 4000, inlines: true,
		file: "ledger/memledger/placecopy.go", old: "		db.leaveLedger(db.contentOf(c.Inline))\n", new: "",
	},
}

func init() { mutants = append(mutants, inlineMutants...) }
