package sim_test

import (
	"slices"

	"github.com/lethe-storage/lethe/reclaim/sim"
)

// heldMutants break rules that the other mutants leave alone.
var heldMutants = []mutant{
	{
		name: "the ledger's clock runs back", rule: "10: the database's clock is the only clock", within: 1000, in: sim.Pacted,
		file: "meta/memmeta/db.go", old: "	db.now = max(db.now, db.opts.Clock.Now())\n	db.receipts", new: "	db.now = db.opts.Clock.Now()\n	db.receipts",
	}, {
		name: "an outage is a failed attempt", rule: "14: an outage is not a failed attempt", within: 500,
		file: "reclaim/clean.go", old: "	case errors.Is(err, blob.ErrDown), errors.Is(err, errCutOff):", new: "	case errors.Is(err, errCutOff):",
	}, {
		name: "foreign keys are taken for ours", rule: "15: foreign things are left alone", within: 500, in: sim.Reconciled,
		file: "reclaim/reconcile/compare.go", old: "	_, ours := lethe.ParseBlobKey(m.w.o.Store, i.Key)\n", new: "	ours := true\n",
	}, {
		name: "copies are trimmed beside a suspect one", rule: "17: beside one that is not suspect", within: 4000, in: sim.Placed,
		file: "placement/decide.go", old: "		case b.Suspect:\n", new: "		case false:\n",
		elsewhere: map[string][]edit{"meta/memmeta/placecopy.go": {{"x.State == lethe.Live && !x.Suspect && x.VerifiedAt > 0", "x.State == lethe.Live && x.VerifiedAt > 0"}}},
	}, {
		name: "a suspect copy covers its segment", rule: "20: what is suspect gets one more copy", within: 2000, in: sim.Placed,
		file: "meta/memmeta/contents.go", old: "b.State == lethe.Live && !b.Suspect && (len(reach)", new: "b.State == lethe.Live && (len(reach)",
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

// letterMutants break what is done about deletes that were given up.
var letterMutants = []mutant{
	{
		name: "a person's list of dead letters is believed", rule: "a dead letter is put back or written off while it is one", within: 4000, in: sim.Buried,
		file: "meta/memmeta/dead.go", old: "		if b := db.byID[id]; b != nil && b.State == lethe.Dead && b.LateUntil", new: "		if b := db.byID[id]; b != nil && b.LateUntil",
	}, {
		name: "a write-off leaves no receipt", rule: "a receipt for all that goes", within: 500, in: sim.Buried,
		file: "meta/memmeta/dead.go", old: "		db.lostBytes(b, receipt.WrittenOff)\n", new: "		_ = receipt.WrittenOff\n",
	}, {
		name: "what is put back has no attempts left", rule: "a dead letter is put back or written off while it is one", within: 500, in: sim.Buried,
		file: "meta/memmeta/dead.go", old: "next.State, next.DueAt, next.Attempts = lethe.Condemned, db.now, 0", new: "next.State, next.DueAt = lethe.Condemned, db.now",
	},
}

func init() { mutants = slices.Concat(mutants, heldMutants, letterMutants) }
