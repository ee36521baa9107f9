package sim_test

// forkMutants break what keeps two ledgers over the same backends from destroying what
// either lists, and what tells that another disk lies in a backend's place.
var forkMutants = []mutant{
	{
		name: "forks: a batch is not compared", rule: "13: compared before every batch of deletes", within: 500, forks: true,
		file: "reclaim/pairing/admit.go", old: "		if err := g.Check(ctx, id); err != nil {", new: "		if err := g.Check(ctx, id); err != nil && !g.begun(id) {",
	}, {
		name: "forks: absent is settled without a second look", rule: "13: compared before anything is settled as absent", within: 1000, forks: true,
		file: "reclaim/routine/delete.go", old: "	if absent > 0 {", new: "	if absent > 1<<20 {",
	}, {
		name: "forks: missing is believed without a second look", rule: "13: compared before anything is settled as absent", within: 500, forks: true,
		file: "blob/intercept/guard.go", old: "	case why == nil:\n", new: "	case why == nil || n >= 0:\n",
	}, {
		name: "forks: nobody is challenged", rule: "13: neither destroys anything before a person decides", within: 500, forks: true,
		file: "reclaim/pairing/epochs.go", old: "	if b.HeldFor != ledger.HeldForLedger {\n", new: "	if true {\n",
	}, {
		name: "forks: no quiet beat after a start", rule: "13: one quiet beat after a start", within: 500, forks: true,
		file: "reclaim/pairing/admit.go", old: "	return max(0, g.quietTime()-now.Sub(q.since)), q.since != 0", new: "	return 0 * (g.quietTime() - now.Sub(q.since)), q.since != 0",
	}, {
		name: "forks: epochs are counted", rule: "13: a nonce that the other cannot know", within: 2000, known: 579, forks: true,
		file: "reclaim/pairing/epochs.go", old: "	return n + 1 + draw(epochStep), nil", new: "	return n + 1 + 0*draw(epochStep), nil",
	}, {
		name: "forks: who slept deletes all the same", rule: "13: deletes are sent soon after the comparison", within: 500, forks: true,
		file: "reclaim/routine/delete.go", old: "took >= k.Safety.DeleteTime() {", new: "took < 0 {",
	}, {
		name: "forks: another disk is taken for the backend once it was written to", rule: "13: a folder that was replaced is not the backend", within: 2000, forks: true,
		file: "reclaim/pairing/pairing.go", old: "	case last == b.Intended && b.Epoch > 0 && !slices.Contains(found, b.Epoch):", new: "	case last == b.Intended && b.Epoch < 0 && !slices.Contains(found, b.Epoch):",
	}, {
		name: "restored: an orphan is taken by its size", rule: "20: no reference without the bytes", within: 600, restored: true,
		file: "reclaim/reconcile/found.go", old: "		if lost.Digest != have.Digest {", new: "		if lost.Size != have.Size {",
		also: []edit{{"Size: f.Size, Digest: have.Digest, Blocks", "Size: f.Size, Digest: lost.Digest, Blocks"}},
	}, {
		name: "restored: an orphan is taken while a delete of it may land", rule: "9: deletes land late too", within: 600, restored: true,
		file: "ledger/walktypes.go", old: "	case now.Add(-f.Ago) < b.AcceptedAt.Add(f.Wait):", new: "	case now.Add(-f.Ago) < b.AcceptedAt:",
		elsewhere: map[string][]edit{"reclaim/reconcile/found.go": {{"s.o.Clock.Now() < row.AcceptedAt.Add(s.o.Wait)", "s.o.Clock.Now() < row.AcceptedAt"}}},
	},
}

func init() { mutants = append(mutants, forkMutants...) }
