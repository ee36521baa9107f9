package sim_test

import "github.com/lethe-storage/lethe/test/sim"

// mutant is a planted break of the protocol: a patch on the real code.
type mutant struct {
	name string
	rule string // what is switched off or weakened
	file string // in the module
	old  string // must occur exactly once
	new  string
	// also are more places of the same file, where the rule is guarded twice.
	also []edit
	// elsewhere are places of other files.
	elsewhere map[string][]edit
	// within is the number of schedules, from seed 1, that must find it.
	within int
	// in is the kind of worlds that are searched, if it can be in no others.
	in sim.Kind
	// known is a seed that shows it today, one of the first within of its kind: it is
	// tried first. If it shows it no more, the search begins at the first seed.
	known uint64
	// equivalent says why no schedule can find it: it must survive.
	equivalent string
	sqlite     bool // run over the shipped SQLite ledger
	plans      bool // plans are made and applied beside the routines
	predicts   bool // the quiet end begins with a prediction
	inlines    bool // instances keep small contents in the ledger
	forks      bool // schedules of two ledgers are searched
	restored   bool // schedules of a restored ledger are searched
}

// edit replaces old, which must occur exactly once, by new.
type edit struct{ old, new string }

var mutants = []mutant{
	{
		name: "upload without an intent", rule: "1: row before byte", within: 2000,
		file: "object/upload.go",
		old:  "	if err != nil {\n		return sent{}, s.beginFailed(ctx, id, err)\n	}",
		new:  "	_ = err",
	}, {
		name: "unknown uploads are taken for not done", rule: "9: late uploads are expected", within: 6000,
		file: "object/upload.go", old: "late = blob.Unknown(err)", new: "late = false",
	}, {
		name: "names are made of the digest", rule: "names are never used twice", within: 2000,
		file: "object/upload.go", old: "	id := s.newID()\n	out :=",
		new: "	id := s.newID()\n	if len(u.digest) > 30 {\n		id = id[:5] + lethe.ID(u.digest[:21])\n	}\n	out :=",
	}, {
		name: "a lost answer is guessed to be a success", rule: "7: looked up, never guessed", within: 6000,
		file: "object/settle.go", old: "		case found:\n", new: "		case found || lookup == nil:\n",
	}, {
		name: "a lost answer is guessed to be a failure", rule: "7: looked up, never guessed", within: 6000,
		file: "object/settle.go", old: "		if !reaped && refused(err) {", new: "		if true {\n			err = lethe.ErrPreconditionFailed",
	}, {
		name: "digests of bodies are not checked", rule: "20: no reference without the bytes", within: 6000,
		file: "object/intake.go", old: `if want := in.want.md5; want != "" && !strings`, new: `if want := in.want.md5; want == "!" && !strings`,
	}, {
		name: "the cache is believed", rule: "11: verified against its digest on a hit", within: 6000, known: 35,
		file: "object/get.go", old: "		if matchesDigests(data, res.Segments) {", new: "		if true {",
	}, {
		name: "readers do not extend the grace", rule: "18: readers finish", within: 20000, known: 121,
		file: "object/readgrace.go", old: "	if now.Sub(l.last) < l.s.opt.ReadGrace/2 {", new: "	if true {",
	}, {
		name: "a key left out of an answer is taken for deleted", rule: "8: an answer is checked against the request", within: 8000,
		file: "blob/outcomes.go", old: "		if !ok {\n			err = whole\n		}", new: "		if !ok && !errors.Is(whole, ErrUnknown) {\n			err = whole\n		}",
	}, {
		name: "a failed call is taken for a success", rule: "8: only confirmed keys are settled", within: 6000,
		file: "reclaim/routine/delete.go", old: "	said := blob.Outcomes(keys, results, err)", new: "	if err != nil {\n		results, err = nil, nil\n	}\n	said := blob.Outcomes(keys[:len(results)], results, err)\n	said = append(said, make([]error, len(keys)-len(said))...)",
	}, {
		name: "a failed key is settled as gone", rule: "8: only confirmed keys are settled", within: 6000,
		file: "reclaim/routine/delete.go", old: "		item.Result, item.Error = ledger.Failed, err.Error()", new: "		item.Result = ledger.Gone",
	}, {
		name: "bytes of any size and digest prove a write", rule: "19: only proof promotes", within: 8000, known: 201,
		file: "reclaim/routine/reap.go", old: "	case info.Size != want.Size:\n		return false, none, nil\n	}", new: "	case info.Size >= 0:\n		return true, none, nil\n	}",
	}, {
		name: "absent bytes prove a write", rule: "19: only proof promotes", within: 8000,
		file: "reclaim/routine/reap.go", old: "	case errors.Is(err, blob.ErrNotExist):\n		return false, none, nil\n	case err != nil:\n		return false, none, err\n	case info",
		new: "	case errors.Is(err, blob.ErrNotExist):\n		return true, none, nil\n	case err != nil:\n		return false, none, err\n	case info",
	}, {
		name: "claims are stale at once", rule: "claims only avoid wasted work", within: 1000,
		file: "reclaim/routine/watch.go", old: "w.Safety.ClaimGrace, w.Limit", new: "0, w.Limit",
		equivalent: "a claim taken over too early is fenced at its settle; the bytes were condemned all the same (the model takes claims over at any time)",
	}, {
		name: "intents are reaped at once", rule: "min_age spares slow but living writers", within: 2000,
		file: "reclaim/routine/reap.go", old: "Limit: r.Limit, MinAge: r.Safety.MinAge}", new: "Limit: r.Limit, MinAge: 0}",
	}, {
		name: "settle without the fence", rule: "transitions name their fence", within: 2000, known: 4, sqlite: true,
		file: "ledger/sqlledger/blob_settle.go", old: "WHERE b.id = t.id AND b.state = 3 AND b.fence = ?2 AND b.fence <> 0`,",
		new: "WHERE b.id = t.id AND b.state = 3 AND ?2 <> 0`,",
		also: []edit{
			{"WHERE id ` + sqldb.In(1) + ` AND state = 3 AND fence + 0 = ?2`)", "WHERE id ` + sqldb.In(1) + ` AND state = 3 AND ?2 <> 0`)"},
			{"WHERE blobs.id = t.id AND blobs.state = 3 AND blobs.fence + 0 = ?2`", "WHERE blobs.id = t.id AND blobs.state = 3 AND ?2 <> 0`"},
		},
	}, {
		name: "the row goes before the late window", rule: "9: the row stays until a second delete", within: 2000, known: 8, sqlite: true,
		file: "ledger/sqlledger/blob_settle.go", old: "if row.lateUntil <= row.claimedAt {", new: "if row.lateUntil >= 0 {",
	}, {
		name: "a commit takes reaped intents", rule: "19: a writer whose intent was reaped fails", within: 2000, known: 32, sqlite: true,
		file: "ledger/sqlledger/content.go", old: "pendingBlob = register(`SELECT backend, size FROM blobs WHERE id = ?1 AND state = 1 AND fence = ?2 ` + sqldb.Exclusive)",
		new:  "pendingBlob = register(`SELECT backend, size FROM blobs WHERE id = ?1 AND ?2 >= 0 ` + sqldb.Exclusive)",
		also: []edit{{"WHERE id = ?1 AND state = 1 AND fence = ?2`)\n)", "WHERE id = ?1 AND ?2 >= 0`)\n)"}},
	}, {
		name: "writers do not clear promotions", rule: "19: nothing wrote or removed the key since", within: 2000, known: 324, sqlite: true,
		file: "ledger/sqlledger/blob_reap.go", old: "		return t.supersede(w.bucket.ID, key)", new: "		return nil",
	}, {
		name: "deletions do not clear promotions", rule: "19: nothing wrote or removed the key since", within: 2000, known: 442, sqlite: true,
		file: "ledger/sqlledger/object_delete.go", old: "	if len(p.clear) > 0 {", new: "	if false {",
	}, {
		name: "what a write replaced keeps its reference", rule: "2: one commit dereferences what it replaced", within: 2000, sqlite: true,
		file: "ledger/sqlledger/object_commit.go", old: "	if w.old != nil {\n		if err := t.discard", new: "	if false {\n		if err := t.discard",
	}, {
		name: "references fall by one per batch", rule: "3: counting by what was deleted", within: 2000, known: 8, sqlite: true,
		file: "ledger/sqlledger/content_refs.go", old: "	c := r[content]\n	c.net--\n", new: "	c := r[content]\n	c.net = -1\n",
	}, {
		name: "the last reference does not condemn", rule: "4: condemned in the transaction that drops the last reference", within: 2000, sqlite: true,
		file: "ledger/sqlledger/content_refs.go", old: "	out.condemned, err = t.condemnContents(onBackends, losses, pending, t.db.o.ReadGrace)\n", new: "	out.condemned, err = t.condemnContents(onBackends[:0], losses, pending, t.db.o.ReadGrace)\n",
	}, {
		name: "a referenced content is dropped", rule: "promise 1: a live byte is never deleted", within: 2000, sqlite: true,
		file: "ledger/sqlledger/content_refs.go", old: "AND refs = ?2 RETURNING id, body_no", new: "AND refs <= ?2 + 1 RETURNING id, body_no",
	}, {
		name: "a claim leaves no stamp", rule: "5: deletes only for claimed, condemned blobs", within: 2000, sqlite: true,
		file: "ledger/sqlledger/blob_clean.go", old: "UPDATE blobs SET worker = ?5, fence = ?6, claimed_at = ?3 FROM due", new: "UPDATE blobs SET worker = ?5, fence = ?6 * 0, claimed_at = ?3 FROM due",
	}, {
		name: "objects expire ten minutes early", rule: "an object lives until its time", within: 2000, sqlite: true,
		file: "ledger/sqlledger/object_expire.go", old: "dueObjects, b.After, t.Now, oneMore(b.Limit))", new: "dueObjects, b.After, t.Now+600e6, oneMore(b.Limit))",
		also: []edit{{"			AND due_at IS NOT NULL AND due_at + 0 <= ?2\n", "			AND due_at IS NOT NULL AND due_at + 0 <= ?2 + 600000000\n"}},
	}, {
		name: "expired objects stay visible", rule: "hidden at once when its ttl_at has passed", within: 2000, known: 9, sqlite: true,
		file: "ledger/sqlledger/object_resolve.go", old: "|| !out.Object.VisibleAt(t.Now) {", new: "{",
	}, {
		name: "a reaped intent is due at once", rule: "9: its bytes may still land", within: 2000, known: 1044, sqlite: true,
		file: "ledger/sqlledger/blob_condemn.go", old: "	if d.late || d.silent {", new: "	if d.late {",
	}, {
		name: "abandoned late uploads forget the late window", rule: "9: late uploads are expected", within: 2000, known: 8, sqlite: true,
		file: "ledger/sqlledger/blob_intent.go", old: "at: t.Now, late: late}", new: "at: t.Now, late: false}",
	}, {
		name: "restore leaves the trash entry", rule: "a reference is one row", within: 2000, known: 9, sqlite: true,
		file: "ledger/sqlledger/trash.go", old: "`DELETE FROM trash WHERE id = ?1 RETURNING `",
		new: "`UPDATE trash SET id = id WHERE id = ?1 RETURNING `",
	}, {
		name: "no precondition", rule: "2: nothing is replaced that was not seen", within: 2000, sqlite: true,
		file: "ledger/sqlledger/object_commit.go", old: "	if err := c.If.Holds(w.seen()); err != nil {\n		return nil, err\n	}", new: "",
	}, {
		name: "counters forget the dead letters", rule: "the books are exact at every commit", within: 2000, known: 10, sqlite: true,
		file: "ledger/sqlledger/blob_settle.go", old: "		p.t.counts.move(ledger.Move{Backend: row.backend, From: lethe.Condemned, To: lethe.Dead, Reason: moveAttempts, Blobs: 1, Bytes: row.size})", new: "",
	}, {
		name: "counters forget what is gone", rule: "the books are exact at every commit", within: 2000, sqlite: true,
		file: "ledger/sqlledger/blob_settle.go", old: "	p.t.counts.move(ledger.Move{Backend: row.backend, From: lethe.Condemned, To: 0, Reason: moveConfirmed, Blobs: 1, Bytes: row.size})", new: "",
	}, {
		name: "duplicates are not condemned", rule: "2: one commit", within: 100, sqlite: true,
		file: "ledger/sqlledger/object_commit.go", old: "		if err := w.t.condemnDuplicates(w.c.Blobs, fence); err != nil {\n			return err\n		}", new: "",
		equivalent: "the intents stay pending, their promotions are cleared by the write itself, and the reaper condemns them (the model's LEAVE_DUPLICATES reaches the same states)",
	}, {
		name: "every write is of its own", rule: "content is kept once", within: 2000, sqlite: true,
		file: "ledger/sqlledger/object_commit.go", old: "AND c.kind = ?4 AND c.closed = 0`)", new: "AND c.kind = ?4 AND c.closed = 2`)",
	}, {
		name: "a sweep forgets the digests of living contents", rule: "content is kept once", within: 4000, sqlite: true,
		file: "ledger/sqlledger/content_digest.go", old: "AND d.prefix <= ?2 AND `+digestEnded)", new: "AND d.prefix <= ?2`)",
	},
}
