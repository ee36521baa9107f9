package sim_test

// guardMutants break what holds promise.
var guardMutants = []mutant{
	{
		name: "a delete does not look for holds", rule: "holds are re-checked where it counts", within: 2000,
		file: "ledger/memledger/objects.go", old: "		if out.Err = b.held(item.Key); out.Err != nil {", new: "		if out.Err = b.held(item.Key); false {",
	}, {
		name: "expire does not look for holds", rule: "holds are re-checked where it counts", within: 2000,
		file: "ledger/memledger/holds.go", old: "		if o.bucket.held(o.Key) != nil {", new: "		if false {",
	}, {
		name: "a write replaces what is held", rule: "holds are re-checked where it counts", within: 2000,
		file: "ledger/memledger/commit.go", old: "		if err := b.held(c.Object.Key); err != nil {", new: "		if err := b.held(c.Object.Key); false {",
	}, {
		name: "a purge does not look for holds", rule: "holds are re-checked where it counts", within: 4000,
		file: "ledger/memledger/holds.go", old: "b != nil && b.held(e.Object.Key) != nil {", new: "b != nil && false {",
	}, {
		name: "an upload that is held is aborted", rule: "holds are re-checked where it counts", within: 8000, known: 865,
		file: "ledger/memledger/overdue.go", old: "	if err := u.bucket.held(u.Key); err != nil {", new: "	if err := u.bucket.held(u.Key); false {",
	}, {
		name: "a restore replaces what is held", rule: "holds are re-checked where it counts", within: 8000, known: 656,
		file: "ledger/memledger/trash.go", old: "		if err := b.held(old.Key); err != nil {", new: "		if err := b.held(old.Key); false {",
	}, {
		name: "a held object's end is brought forward", rule: "holds are re-checked where it counts", within: 4000, known: 21,
		file: "ledger/memledger/objects.go", old: "	if err == nil && u.Shortens(", new: "	if err == nil && false && u.Shortens(",
	}, {
		name: "a hold on a prefix covers one key", rule: "a hold covers what it names", within: 2000,
		file: "ledger/memledger/holds.go", old: "		return strings.HasPrefix(key, h.Key)\n", new: "		return key == h.Key\n",
	}, {
		name: "a released hold brings nothing back", rule: "what was due is due again when it is let go", within: 2000,
		file: "ledger/memledger/holds.go", old: "	db.releaseDeferred(b, h.Key)\n", new: "",
	}, {
		name: "a release ends with its first batch", rule: "what was due is due again when it is let go", within: 8000, known: 4,
		file: "ledger/memledger/holds.go", old: "	if limit > 0 && len(list) == limit {\n		l.after", new: "	if false {\n		l.after",
	}, {
		name: "what is deferred in the trash comes back never", rule: "what was due is due again when it is let go", within: 4000,
		file: "ledger/memledger/holds.go", old: "	db.postpone(e, p.due)\n	return 1\n", new: "	return 1\n",
	},
}

func init() { mutants = append(mutants, guardMutants...) }
