package sim_test

import "github.com/lethe-storage/lethe/test/sim"

// blind keeps the oracle from asking, at each reference, when a copy was verified: what
// is lost by it must show in the bytes.
var blind = edit{"		if !is && !uploaded {", "		if !is && !uploaded && len(content) > 100 {"}

// decayMutants break what keeps bytes from being lost, and others from being served,
// when copies at rest decay.
var decayMutants = []mutant{
	{
		name: "decay: an upload dies for a copy that nobody has read lately", rule: "17: what was just uploaded takes the older copy's place", within: 2000, in: sim.Decaying,
		file: "ledger/memledger/contents.go", old: "	case !db.trusted(c, w.Reach):\n", new: "	case false:\n",
		elsewhere: map[string][]edit{"test/sim/held.go": {blind}},
	}, {
		name: "decay: known bytes are not sent whenever they were read", rule: "17: nothing is referred to beside what was not verified lately", within: 2000, in: sim.Decaying,
		file: "ledger/memledger/contents.go", old: "	if c := db.open[k]; c != nil && db.trusted(c, reach) {", new: "	if c := db.open[k]; c != nil {",
		also:      []edit{{"	case !db.trusted(c, w.Reach):\n", "	case len(w.up) > 0 && !db.trusted(c, w.Reach):\n"}},
		elsewhere: map[string][]edit{"test/sim/held.go": {blind}},
	}, {
		name: "decay: blocks are not verified", rule: "22: no byte is served that was not verified", within: 2000, known: 209, in: sim.Decaying,
		file: "object/blockcheck.go", old: "	if have, want := lethe.CRC32C(0, block), c.sums[from/c.each-c.first]; have != want {", new: "	if have, want := lethe.CRC32C(0, block), c.sums[from/c.each-c.first]; have != want && len(c.sums) > 1<<20 {",
	}, {
		name: "decay: only reads of all of it are verified", rule: "22: no byte is served that was not verified", within: 4000, known: 10036, in: sim.Decaying,
		file: "object/body.go", old: "		wrong := b.check.wrong(block, from)\n		if wrong == \"\" {", new: "		wrong := b.check.wrong(block, from)\n		if wrong == \"\" || b.end < b.check.size {",
	}, {
		name: "decay: a block that fails ends the read", rule: "22: another copy is read from the same block on", within: 4000, known: 209, in: sim.Decaying,
		file: "object/body.go", old: "		b.s.events.corrupt(b.cur, err)\n		b.closeCopy()\n		b.giveUp(b.cur, err)\n", new: "		b.s.events.corrupt(b.cur, err)\n		b.closeCopy()\n		b.giveUp(b.cur, err)\n		return err\n",
	}, {
		name: "decay: what is damaged is not marked", rule: "20: what is missing or damaged is suspect", within: 4000, known: 63, in: sim.Decaying,
		file: "object/body.go", old: "	if c.Suspect || !damaged(err) {", new: "	if c.Suspect || !errors.Is(err, blob.ErrNotExist) {",
	}, {
		name: "decay: what is missing is not marked", rule: "20: what is missing or damaged is suspect", within: 4000, known: 359, in: sim.Decaying,
		file: "object/body.go", old: "	if c.Suspect || !damaged(err) {", new: "	if c.Suspect || !errors.Is(err, lethe.ErrCorrupt) {",
	}, {
		name: "decay: writes keep no sums", rule: "22: what is written has the sums of its blocks", within: 100,
		file: "ledger/memledger/contents.go", old: "		u.row.keepBlocks(&next, u.Blocks)\n", new: "",
	}, {
		name: "decay: copies keep no sums", rule: "22: what is written has the sums of its blocks", within: 500, in: sim.Placed,
		file: "ledger/memledger/placecopy.go", old: "	b.keepBlocks(&next, c.Blocks)\n", new: "",
	}, {
		name: "decay: what is copied into a part is not verified", rule: "22: what is copied by bytes was verified", within: 1000, known: 1985, in: sim.Decaying | sim.Composed,
		file: "object/parts.go", old: "	rd, err := s.get(ctx, &GetRequest{", new: "	rd, err := s.get(context.WithValue(ctx, s, true), &GetRequest{",
		elsewhere: map[string][]edit{"object/body.go": {{"		if wrong == \"\" {\n", "		if wrong == \"\" || b.ctx.Value(b.s) != nil {\n"}}},
	}, {
		name: "decay: an upload is completed with a part that is suspect", rule: "20: no reference to what is known to be damaged", within: 2000, known: 12514, in: sim.Decaying | sim.Composed,
		file: "ledger/memledger/uploads.go", old: "	return b == nil || !b.Suspect\n", new: "	return b == nil || !b.Suspect || b.UploadID != \"\"\n",
	}, {
		name: "decay: an old part takes an older copy's place", rule: "17: beside one that was verified within the trust window", within: 4000, known: 193, in: sim.Decaying | sim.Composed,
		file: "ledger/trust.go", old: "		if b.CreatedAt <= r.Since {", new: "		if false {",
		elsewhere: map[string][]edit{"test/sim/held.go": {{"(old.State == lethe.Pending || b.CreatedAt > lately)", "(old.State == lethe.Pending || b.CreatedAt > lately || len(o.last) > 0)"}}},
	},
}

func init() { mutants = append(mutants, decayMutants...) }
