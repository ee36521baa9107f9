package sim_test

import "github.com/lethe-storage/lethe/test/sim"

// receiptMutants break what receipts of deletion promise.
var receiptMutants = []mutant{
	{
		name: "a replaced object leaves no receipt", rule: "a receipt for all that goes", within: 500, sqlite: true,
		file: "ledger/sqlledger/object_row.go", old: "		t.gone(b.Name, o, receipt.Receipt{Reason: reason})\n", new: "		_ = reason\n",
	}, {
		name: "a purged version leaves no receipt", rule: "a receipt for all that goes", within: 4000, sqlite: true,
		file: "ledger/sqlledger/trash_purge.go", old: "			t.gone(e.Object.Bucket, e.Object, receipt.Receipt{Reason: lethe.ReasonPurge,",
		new: "			_ = receipt.Receipt{}\n			(&tx{db: t.db}).gone(e.Object.Bucket, e.Object, receipt.Receipt{Reason: lethe.ReasonPurge,",
	}, {
		name: "what a rule ended is told as expired", rule: "the right reason", within: 4000, sqlite: true,
		file: "ledger/sqlledger/receipt.go", old: "		if g.reason != \"\" {", new: "		if g.reason == \"never\" {",
	}, {
		name: "bytes that are gone leave no receipt", rule: "a receipt for all that goes", within: 500, sqlite: true,
		file: "ledger/sqlledger/receipt.go", old: "func (t *tx) goneBytes(b ledger.Blob, how string) {\n	if t.db.o.NoReceipts {", new: "func (t *tx) goneBytes(b ledger.Blob, how string) {\n	if true {",
	}, {
		name: "what is moved to the trash has a receipt already", rule: "nothing that is here has a receipt", within: 1000, sqlite: true,
		file: "ledger/sqlledger/object_row.go", old: "		return t.bin(b, o, reason)\n",
		new: "		t.gone(b.Name, o, receipt.Receipt{Reason: reason})\n		return t.bin(b, o, reason)\n",
	}, {
		name: "receipts are dropped by the first of a segment", rule: "receipts are kept for their time", within: 2000, in: sim.Sealed, sqlite: true,
		file: "internal/receiptdb/receiptdb.go", old: "lethe.Time(list[n].Until) <= old", new: "lethe.Time(list[n].Since) <= old",
	}, {
		name: "the anchor of the receipts goes with what it sealed", rule: "one chain", within: 2000, in: sim.Sealed, sqlite: true,
		file: "internal/receiptdb/receiptdb.go", old: "t.Exec(dropSeals, last)", new: "t.Exec(dropSeals, last+1)",
	},
}

func init() { mutants = append(mutants, receiptMutants...) }
