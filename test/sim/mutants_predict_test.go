package sim_test

import "github.com/lethe-storage/lethe/test/sim"

// predictMutants break what is predicted, or make the engine do something else.
var predictMutants = []mutant{
	{
		name: "a prediction does not ask the rules that are not applied yet", rule: "what is predicted is what goes", within: 2000, predicts: true,
		file: "ledger/memledger/due.go", old: "if e := o.EndsAt(db.now, b.rules); e.At != 0 && e.At <= q.By {", new: "if e := (ledger.Ending{}); e.At != 0 && e.At <= q.By {",
	}, {
		name: "a prediction forgets what was deferred", rule: "what is predicted is what goes", within: 4000, known: 211, predicts: true,
		file: "ledger/memledger/due.go", old: "			return p.entry == \"\" && o != nil && o.deferred", new: "			return false && o != nil && o.deferred",
	}, {
		name: "a prediction names what a hold keeps", rule: "what is predicted is what goes", within: 2000, predicts: true,
		file: "reclaim/predict/predict.go", old: "	case d.Held:\n", new: "	case false:\n",
	}, {
		name: "a prediction does not ask the clock", rule: "what is predicted is what goes", within: 500, predicts: true,
		file: "reclaim/predict/predict.go", old: "	case p.Doubt != \"\":\n", new: "	case false:\n",
	}, {
		name: "what is predicted to stay for the clock goes", rule: "what is predicted is what goes", within: 500, predicts: true,
		file: "reclaim/routine/step.go", old: "		if doubt := predict.Doubt(c); doubt != \"\" {\n			return false", new: "		if doubt := predict.Doubt(c); false {\n			return false",
	}, {
		name: "a prediction asks no limit", rule: "what is predicted is what goes", within: 4000, known: 118, predicts: true,
		file: "reclaim/predict/limits.go", old: "	case s.goes(d):\n", new: "	case true:\n",
	}, {
		name: "a prediction forgets a limit that has tripped", rule: "what is predicted is what goes", within: 2000, known: 9430, in: sim.Limited, predicts: true,
		file: "reclaim/predict/limits.go", old: "	case part == ledger.DueDeferred && g.Tripped(l.now):\n", new: "	case false:\n",
	}, {
		name: "a prediction takes what a limit lets go by name, not by age", rule: "what is predicted is what goes", within: 4000, predicts: true,
		file: "reclaim/predict/limits.go", old: "	if s.oldest != nil && s.Goes > 0 {\n", new: "	if false {\n",
	}, {
		name: "a prediction of one row does not count the others", rule: "what is predicted is what goes", within: 4000, known: 118, predicts: true,
		file: "reclaim/predict/predict.go", old: "ledger.DueQuery{Bucket: d.Bucket}", new: "ledger.DueQuery{Bucket: \"none\"}",
	}, {
		name: "a plan frees what others still share", rule: "what is predicted is what goes", within: 2000, predicts: true,
		file: "reclaim/plan/totals.go", old: "n+1 < i.Refs {", new: "n < 0 {",
	}, {
		name: "a plan frees nothing that is shared", rule: "what is predicted is what goes", within: 2000, known: 216, predicts: true,
		file: "reclaim/plan/totals.go", old: "	if i.Refs <= 1 {\n		return\n	}\n	t.Shared++\n", new: "	if true || i.Refs <= 1 {\n		return\n	}\n	t.Shared++\n",
	},
}

func init() { mutants = append(mutants, predictMutants...) }
