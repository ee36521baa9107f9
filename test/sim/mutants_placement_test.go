package sim_test

import "github.com/lethe-storage/lethe/test/sim"

// placementMutants are planted breaks of what placement adds to the protocol.
var placementMutants = []mutant{
	{
		name: "copies are trimmed beside nothing, by anybody", rule: "17: a replica dies only beside a living one", within: 4000, known: 219, in: sim.Placed,
		file: "ledger/memledger/placecopy.go",
		old:  "		if !db.soundBeside(b, r.Blobs) {", new: "		if false {",
		also: []edit{{"	if err := db.keepSubject(ledger.Blob{ContentID: r.Content}, r.Fence, r.Lease); err != nil {", "	if false {\n		var err error"}},
	}, {
		name: "copies are trimmed beside what nobody has read", rule: "17: beside one that was verified", within: 20000, in: sim.Placed,
		file: "placement/replicate.go", old: "	if t.beside[0].VerifiedAt > 0 {", new: "	if true {",
		elsewhere: map[string][]edit{"ledger/memledger/placecopy.go": {{" &&\n			x.VerifiedAt > max(since, x.backend.trustedSince)", " && since > 0"}}},
	}, {
		name: "copies are trimmed beside what was read long ago", rule: "17: beside one that was verified within the trust window", within: 4000, in: sim.Placed,
		file: "ledger/memledger/placecopy.go", old: "			x.VerifiedAt > max(since, x.backend.trustedSince)", new: "			x.VerifiedAt > 0 && since > 0",
	}, {
		name: "known bytes are trusted for ever", rule: "17: nothing is referred to beside what was not verified lately", within: 500,
		file: "ledger/memledger/contents.go", old: "	return max(b.CreatedAt, b.VerifiedAt) > max(since, b.backend.trustedSince)", new: "	return since > 0",
	}, {
		name: "an old part takes an older copy's place", rule: "17: beside one that was verified within the trust window", within: 8000,
		file: "ledger/trust.go", old: "		if b.CreatedAt <= r.Since {", new: "		if false {",
	}, {
		name: "what was uploaded goes beside a copy that nobody has read lately", rule: "17: what was just uploaded takes the older copy's place", within: 500,
		file: "ledger/trust.go", old: "		case b.Replica == r.Replica:\n			added[b.Segment] = b", new: "		case b.Replica != r.Replica:\n			added[b.Segment] = b",
	}, {
		name: "a copy is committed though its content died", rule: "4: all blobs die with the last reference, pending replicas included", within: 20000, in: sim.Placed,
		file: "ledger/memledger/placecopy.go",
		old:  "	if b == nil || b.State != lethe.Live || b.ContentID != \"\" && db.contentOf(b.ContentID) == nil {", new: "	if b == nil {",
		also: []edit{{"	b, err := db.writing(c.Blob)\n", "	b := db.byID[c.Blob]\n	if b == nil {\n		return lethe.ErrReaped\n	}\n"}},
	}, {
		name: "a copy is taken for whole", rule: "20: no reference without the bytes", within: 20000, in: sim.Placed,
		file: "placement/stream.go", old: "	if r.n == r.src.Size && digest == r.src.Digest {", new: "	if r.n == r.src.Size {",
	}, {
		name: "a copy that may land late is forgotten", rule: "9: late uploads are expected", within: 8000, known: 1551, in: sim.Placed,
		file: "placement/stream.go", old: "	late = blob.Unknown(err)", new: "	late = false",
	}, {
		name: "a copy is sent without an intent", rule: "1: row before byte", within: 4000, in: sim.Placed,
		file: "placement/stream.go", old: "	if err != nil {\n		if errors.Is(err, lethe.ErrUnknownOutcome) {\n			_ = c.abandon(ctx, id, false) // no byte was sent\n		}\n		return ledger.Blob{}, fmt.Errorf(\"begin: %w\", err)\n	}", new: "	b.Size = src.Size",
	}, {
		name: "a drain condemns before the copy is live", rule: "17: a replica dies only beside a living one", within: 4000,
		file: "placement/decide.go", old: "	case len(out.copies) > 0:\n	case len(c.good) < a.wanted():\n", new: "	case len(out.copies) > 0:\n		a.trim(out, c)\n	case len(c.good) < a.wanted():\n",
	}, {
		name: "new contents are not queued", rule: "a content has as many copies as are wanted", within: 2000,
		file: "ledger/memledger/contents.go", old: "	if db.opts.Replicas > 1 {\n		db.place(c.ID)\n	}", new: "",
	}, {
		name: "suspect copies are not queued", rule: "what is lost is replaced", within: 8000,
		file: "ledger/memledger/marks.go", old: "		if b.Suspect != next.Suspect && b.ContentID != \"\" {", new: "		if false {",
	}, {
		name: "a claim outlives what happened meanwhile", rule: "who looks already has to look again", within: 20000, known: 32773, in: sim.Pounced,
		file: "ledger/memledger/placequeue.go", old: "		db.places.set(m, db.now, 0)\n		return", new: "		return",
	}, {
		name: "what is stuck is forgotten", rule: "a content has as many copies as are wanted", within: 6000,
		file: "placement/replicate.go", old: "	res := ledger.PlacementResult{ID: w.p.ID, Error:", new: "	res := ledger.PlacementResult{ID: w.p.ID, Done: true, Error:",
	}, {
		name: "copies share a backend", rule: "no two copies on one backend", within: 2000,
		file: "placement/decide.go", old: "		if !slices.ContainsFunc(blobs, func(b ledger.Blob) bool { return b.Backend == s.ID && !(b.State == lethe.Live && b.Suspect) }) {", new: "		if true {",
		also: []edit{{"case s == nil || !s.use || taken[b.Backend] || a.leaves", "case s == nil || !s.use || a.leaves"}},
	}, {
		name: "a moved part keeps its old blob", rule: "every live blob has an owner", within: 20000,
		file: "ledger/memledger/placecopy.go", old: "		db.condemn(src, death{reason: lethe.ReasonRebalance, at: db.now})", new: "",
	}, {
		name: "drains pass over parts", rule: "a drained backend is empty", within: 20000,
		file: "placement/decide.go", old: "			a.part(&out, b, p.Leave)", new: "			_ = b",
	},
}
