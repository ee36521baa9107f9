package sim_test

import "github.com/lethe-storage/lethe/test/sim"

// planMutants break how a plan is applied, a good while after it was made.
var planMutants = []mutant{
	{
		name: "a plan takes whatever lies under the key", rule: "a plan acts on the version that it names", within: 500, known: 63, plans: true,
		file: "ledger/memledger/due.go", old: "	if o := db.under(n); o != nil && o.ID == n.ID {", new: "	if o := db.under(n); o != nil {",
	}, {
		name: "a plan's claim takes what has to wait", rule: "what is applied is looked at again", within: 500, known: 90, plans: true,
		file: "ledger/memledger/due.go", old: "x.State == lethe.Condemned && x.DueAt <= db.now", new: "x.State == lethe.Condemned",
	}, {
		name: "a plan's claim takes others too", rule: "a plan does that, and nothing else", within: 500, plans: true,
		file: "ledger/memledger/due.go", old: "	if r.Only == nil || len(due) == 0 {", new: "	if r.Only == nil || len(due) < 99 {",
	}, {
		name: "a plan of copies condemns whatever is over", rule: "a plan does that, and nothing else", within: 4000, known: 1804, plans: true, in: sim.Placed,
		file: "placement/replicateapply.go", old: "			return !slices.ContainsFunc(want.ends, func(e step) bool { return e.blob == b.ID })\n		})\n", new: "			return false\n		})\n",
		also: []edit{{"	return out, n == len(want.ends)\n", "	return out, true\n"}},
	}, {
		name: "a plan condemns copies that are wanted by now", rule: "17: a replica dies only beside a living one", within: 20000, plans: true, in: sim.Placed,
		file: "placement/replicateapply.go", old: "	trims, ok := now.ending(want)\n	if !ok {\n		return changed{now.String()}\n	}\n	return w.act(ctx, &decision{trims: trims})\n",
		new:       "	leave := slices.DeleteFunc(slices.Clone(w.p.Blobs), func(b ledger.Blob) bool {\n		return !slices.ContainsFunc(want.ends, func(e step) bool { return e.blob == b.ID })\n	})\n	if len(leave) == 0 {\n		return changed{now.String()}\n	}\n	_, err := w.o.Ledger.Copies.TrimCopies(ctx, ledger.Trim{Content: w.p.ID, Blobs: ids(leave), Reason: lethe.ReasonSurplus, Fence: w.fence, Lease: w.o.Lease})\n	return err\n",
		elsewhere: map[string][]edit{"ledger/memledger/placecopy.go": {{"		if !db.soundBeside(b, r.Blobs) {", "		if false {"}}},
	}, {
		name: "a survey's plan queues what is as it is wanted by now", rule: "what is applied is looked at again", within: 4000, known: 84, plans: true, in: sim.Placed,
		file: "placement/surveyplan.go", old: "	case d.empty():", new: "	case false && d.empty():",
	}, {
		name: "a survey's plan tells what was queued as done", rule: "every item has its result", within: 4000, known: 140, plans: true, in: sim.Placed,
		file: "placement/surveyplan.go", old: "	if n == 0 {", new: "	if n < 0 {",
	}, {
		name: "a survey's plan walks over everything", rule: "a plan does that, and nothing else", within: 500, known: 84, plans: true, in: sim.Placed,
		file: "placement/surveyplan.go", old: "	subjects := make([]ledger.Subject, len(list))\n", new: "	if _, err := v.Pass(\"\")(ctx, add); err != nil {\n		return nil, err\n	}\n	subjects := make([]ledger.Subject, len(list))\n",
	}, {
		name: "a drain's plan goes on when the drain has ended", rule: "what is applied is looked at again", within: 4000, known: 55, plans: true, in: sim.Placed,
		file: "placement/drainplan.go", old: "	case refused != \"\":", new: "	case false:",
	},
}

func init() { mutants = append(mutants, planMutants...) }
