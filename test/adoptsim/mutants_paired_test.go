package adoptsim_test

import (
	"github.com/lethe-storage/lethe/test/adoptsim"
)

const (
	pairing    = "adopt/pairing.go"
	pairedRows = "adopt/memadopt/pairings.go"
)

// pairedMutants are the rules of the pairing of a database with a bucket taken away.
var pairedMutants = of(adoptsim.Paired, []mutant{
	// What keeps copies from deleting.
	{name: "epochs are not compared before a delete", rule: "a look before each delete", file: pairing,
		edits: edit("if err := p.Admit(c.Ctx); err != nil {", "if err := p.Admit(c.Ctx); err != nil && c.Op != intercept.Delete {")},
	{name: "a look holds for ever", rule: "a look holds ten seconds", file: pairing,
		edits: edit("now.Sub(p.admitted) < admittedFor", "now.Sub(p.admitted) < 100_000*admittedFor")},
	{name: "a look that failed holds as well", rule: "a listing that fails admits nobody", file: pairing,
		edits: edit("		if found, err = p.list(ctx); err != nil {\n			return seen, nil, err", "		if found, err = p.list(ctx); err != nil {\n			return seen, nil, nil")},
	{name: "a listing that broke off is whole", rule: "a listing that fails admits nobody", file: pairing,
		edits: edit("err = fmt.Errorf(\"look for the epoch below %s: %w\", p.Place, err)", "err = nil")},
	{name: "the epoch stays", rule: "a copy soon knows only a past epoch", file: pairing,
		edits: edit("seen.Now.Sub(seen.At) < epochAge", "seen.Now.Sub(seen.At) < 100_000*epochAge")},
	{name: "the place of the database does not count", rule: "a copy elsewhere is refused", file: pairing,
		edits: edit("case seen.Elsewhere:", "case seen.Elsewhere && seen.Number < 0:")},
	{name: "the place is not written down", rule: "a copy elsewhere is refused", file: pairedRows,
		edits: edit("r.Next, r.written = nonce, p.place", "r.Next = nonce")},
	{name: "a gone epoch does not count", rule: "an emptied bucket is another", file: pairing,
		edits: edit("case len(found) == 0 && seen.Number == 0:", "case len(found) == 0:")},
	{name: "an older epoch does not count", rule: "a restored bucket is another", file: pairing,
		edits: edit("		return \"\" // the next lies", "		return \"\"\n	case last[0].Number < seen.Number:\n		return \"\" // the next lies")},
	{name: "an epoch of another does not count", rule: "the last epoch says whose the objects are", file: pairing,
		edits: edit("	case seen.Number == 0:\n", "	case seen.Number > 0 && last[0].Number > seen.Number:\n		return \"\"\n	case seen.Number == 0:\n")},
	{name: "two next epochs are one", rule: "of two that go on neither does", file: pairing,
		edits: edit("len(last) == 1 && last[0] == next", "slices.Contains(last, next)")},
	{name: "the next epoch needs none before it", rule: "an epoch that is put elsewhere proves nothing", file: pairing,
		edits: edit("(seen.Number == 0 || slices.Contains(found, seen.Epoch))", "(seen.Number >= 0 || slices.Contains(found, seen.Epoch))")},

	// What lets it go on.
	{name: "an operator's word changes nothing", rule: "accept", file: pairedRows,
		edits: edit("p.rows[place] = pairing{adopt.Paired{Epoch: last}, p.place}", "p.rows[place] = pairing{p.rows[place].Paired, p.place}")},
	{name: "who is accepted does not move on", rule: "after accept all others are refused", file: pairing,
		edits: edit("	return p.advance(ctx)\n}", "	return nil\n}")},
	{name: "what an operator says is of this place no more", rule: "accept", file: pairedRows,
		edits: edit("p.rows[place] = pairing{adopt.Paired{Epoch: last}, p.place}", "p.rows[place] = pairing{adopt.Paired{Epoch: last}, p.rows[place].written}")},
	{name: "an epoch that was begun is begun anew", rule: "another process completes what was begun", file: pairing,
		edits: edit("		if seen.Next == \"\" {\n			seen.Next = besideMark", "		if seen.Next != p.Nonce() {\n			seen.Next = besideMark")},
	{name: "an epoch is begun over another", rule: "one is begun at a time", file: pairedRows,
		edits: edit("if r.Epoch != seen || r.Next != \"\" {", "if r.Epoch != seen {")},
	{name: "a look is not repeated", rule: "other processes move on meanwhile", file: pairing,
		edits: edit("if i > 0 && before.Epoch == seen.Epoch && before.Next == seen.Next {", "if i > 0 && before.Number <= seen.Number {")},
	{name: "past epochs stay", rule: "nothing is kept for ever", file: pairing,
		edits: edit("_ = p.remove(ctx, old)", "_ = p.remove(ctx, old[:0])")},
	{name: "the epoch stays when it leaves", rule: "nothing is kept for ever", file: pairing,
		edits: edit("	return p.remove(ctx, found)\n", "	return p.remove(ctx, found[:0])\n")},
})
