package sim_test

import (
	"slices"

	"github.com/lethe-storage/lethe/test/sim"
)

// heldMutants break rules that the other mutants leave alone.
var heldMutants = []mutant{
	{
		name: "the ledger's clock runs back", rule: "10: the database's clock is the only clock", within: 1000, known: 126, in: sim.Paired,
		file: "ledger/memledger/db.go", old: "	db.now = max(db.now, db.jump.Corrected(db.opts.Clock.Now()))\n	db.receipts", new: "	db.now = db.jump.Corrected(db.opts.Clock.Now())\n	db.receipts",
	}, {
		name: "an outage is a failed attempt", rule: "14: an outage is not a failed attempt", within: 500,
		file: "reclaim/routine/delete.go", old: "	case errors.Is(err, blob.ErrDown), errors.Is(err, errCutOff):", new: "	case errors.Is(err, errCutOff):",
	}, {
		name: "foreign keys are taken for ours", rule: "15: foreign things are left alone", within: 500, in: sim.Reconciled,
		file: "reclaim/reconcile/compare.go", old: "	_, ours := lethe.ParseBlobKey(m.w.o.Store, i.Key)\n", new: "	ours := true\n",
	}, {
		name: "copies are trimmed beside a suspect one", rule: "17: beside one that is not suspect", within: 4000, in: sim.Placed,
		file: "placement/decide.go", old: "		case b.Suspect:\n", new: "		case false:\n",
		elsewhere: map[string][]edit{"ledger/memledger/placecopy.go": {{"x.State == lethe.Live && !x.Suspect && ", "x.State == lethe.Live && "}}},
	}, {
		name: "a suspect copy covers its segment", rule: "20: what is suspect gets one more copy", within: 2000, known: 451, in: sim.Placed,
		file: "ledger/memledger/contents.go", old: "b.State == lethe.Live && !b.Suspect && (len(reach)", new: "b.State == lethe.Live && (len(reach)",
	}, {
		name: "readers do not resolve again", rule: "18: a reader that finds it gone resolves the row again", within: 500, in: sim.Dwelt,
		file: "object/body.go", old: "	b.asked++\n", new: "	if b.asked >= 0 {\n		return b.lost()\n	}\n	b.asked++\n",
	}, {
		name: "readers do not resolve again after the first byte", rule: "18: a reader that finds it gone resolves the row again", within: 500, in: sim.Dwelt,
		file: "object/body.go", old: "	if b.asked > 0 && b.askAt == b.left || b.asked >= most {",
		new: "	if b.left < b.res.Object.Size || b.asked > 0 && b.askAt == b.left || b.asked >= most {",
	}, {
		name: "what lies under the key is always another version", rule: "18: a reader that finds it gone resolves the row again", within: 500, in: sim.Dwelt,
		file: "object/get.go", old: "	case res.Object.ContentID != o.ContentID:\n", new: "	case res.Object.ContentID == o.ContentID:\n",
	},
}

// boundMutants break what keeps transactions short, and net.
var boundMutants = []mutant{
	{
		name: "blobs are deleted within the transaction that settles them", rule: "6: no remote call inside a transaction", within: 100,
		file: "ledger/memledger/clean.go", old: "	out.Now = db.now\n	for _, item := range s.Items {\n		if b := db.claimedRow(item.ID",
		new: "	if remote, ok := ctx.Value(\"remote\").(func()); ok {\n		remote()\n	}\n	out.Now = db.now\n	for _, item := range s.Items {\n		if b := db.claimedRow(item.ID",
		elsewhere: map[string][]edit{"reclaim/routine/delete.go": {{
			"	ended := k.Controller.Time(throttle.Database, \"settle\")\n	settled, err := k.Ledger.Settle(settleCtx,",
			"	settleCtx = context.WithValue(settleCtx, \"remote\", func() {\n		_, _ = k.Stores[backend].Delete(ctx, []string{lethe.BlobKey(k.Store, b.Blobs[0].ID)})\n	})\n" +
				"	ended := k.Controller.Time(throttle.Database, \"settle\")\n	settled, err := k.Ledger.Settle(settleCtx,",
		}}},
	}, {
		name: "what a write replaces is counted down before its own reference is counted up", rule: "16: the net change of each content", within: 2000,
		file: "ledger/memledger/commit.go", old: "	var g gone\n	if w.old != nil {\n		db.discard(w.old, lethe.ReasonOverwrite, &g)\n	}\n	db.close(c)\n", new: "	db.close(c)\n",
		also: []edit{{
			"	c := w.refer\n	if c != nil {\n		c.Refs++",
			"	c := w.refer\n	var g gone\n	if w.old != nil {\n		db.discard(w.old, lethe.ReasonOverwrite, &g)\n	}\n	if c != nil {\n		c.Refs++",
		}},
	}, {
		name: "a batch condemns whatever its rows refer to", rule: "16: batches bounded by blobs", within: 2000, known: 450,
		file: "ledger/memledger/expire.go", old: "	if b.MaxBlobs > 0 && len(d.rows) > 0", new: "	if b.MaxBlobs < 0 && len(d.rows) > 0",
	}, {
		name: "a batch takes all that is due", rule: "16: batches bounded by rows", within: 2000,
		file: "ledger/memledger/expire.go", old: "	if b.Limit > 0 && len(d.rows) >= b.Limit {", new: "	if b.Limit < 0 && len(d.rows) >= b.Limit {",
	},
}

// letterMutants break what is done about deletes that were given up.
var letterMutants = []mutant{
	{
		name: "a person's list of dead letters is believed", rule: "a dead letter is put back or written off while it is one", within: 4000, in: sim.Buried,
		file: "ledger/memledger/dead.go", old: "		if b := db.byID[id]; b != nil && b.State == lethe.Dead && b.LateUntil", new: "		if b := db.byID[id]; b != nil && b.LateUntil",
	}, {
		name: "a write-off leaves no receipt", rule: "a receipt for all that goes", within: 500, in: sim.Buried,
		file: "ledger/memledger/dead.go", old: "		db.lostBytes(b, receipt.WrittenOff)\n", new: "		_ = receipt.WrittenOff\n",
	}, {
		name: "a write-off before the late window ends", rule: "9: the row stays until a second delete", within: 2000, known: 175, in: sim.Buried,
		file: "ledger/memledger/dead.go", old: " && b.LateUntil <= max(by, db.now) {", new: " {",
	}, {
		name: "what is put back has no attempts left", rule: "a dead letter is put back or written off while it is one", within: 500, in: sim.Buried,
		file: "ledger/memledger/dead.go", old: "next.State, next.DueAt, next.Attempts = lethe.Condemned, db.now, 0", new: "next.State, next.DueAt = lethe.Condemned, db.now",
	},
}

func init() { mutants = slices.Concat(mutants, heldMutants, boundMutants, letterMutants) }
