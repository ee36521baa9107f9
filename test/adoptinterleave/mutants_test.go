package adoptinterleave_test

import (
	"testing"

	"github.com/lethe-storage/lethe/test/interleave/stepwise"
	"github.com/lethe-storage/lethe/test/mutation"
)

// TestMutants takes each lock and each second look away: a pair has to show that it is
// missing, or it stands there why none can.
func TestMutants(t *testing.T) { stepwise.TestMutants(t, "../..", mutants(), meetings()) }

// mutant is sqladopt, or a guard, without a lock or a second look.
type mutant struct {
	name string
	file string
	old  string // must occur exactly once
	new  string
	also [][2]string // more edits of the file
	// pairs are those that are tried, with every interruption.
	pairs []string
	// equivalent says why nobody can see it: no pair shows it.
	equivalent string
}

// mutants are those of the table.
func mutants() (out []stepwise.Mutant) {
	for _, m := range table {
		edits := []mutation.Edit{{Old: m.old, New: m.new}}
		for _, e := range m.also {
			edits = append(edits, mutation.Edit{Old: e[0], New: e[1]})
		}
		out = append(out, stepwise.Mutant{
			Mutant: mutation.Mutant{Name: m.name, Edits: map[string][]mutation.Edit{"adopt/sqladopt/" + m.file: edits}},
			Pairs:  m.pairs, Equivalent: m.equivalent,
		})
	}
	return out
}

var table = []mutant{
	{
		name: "claims lock no rows", file: "claim.go",
		old: "c.row, dueRows,", new: "c.row, dueRows[:len(dueRows)-len(sqldb.Locked)],",
		pairs: []string{"pastes: Claim + pastes: Claim", "pastes: Claim + pastes: extend last"},
	}, {
		name: "rows that are recovered are not locked", file: "claim.go",
		old: "age, stuckRows,", new: "age, stuckRows[:len(stuckRows)-len(sqldb.Locked)],",
		pairs: []string{"pastes: Release + pastes: Recover early"},
	}, {
		name: "rows that are settled are not locked", file: "settle.go",
		old: "ORDER BY r.{key} {for update}`", new: "ORDER BY r.{key} `",
		pairs: []string{"pastes: Settle + pastes: extend held two", "pastes: Settle + pastes: Recover early"},
	}, {
		name: "contents are counted down without a lock", file: "settle.go",
		old: "ORDER BY c.{ckey} ` + sqldb.Exclusive", new: "ORDER BY c.{ckey} `",
		pairs: []string{"pastes: Settle + pastes: Settle late"},
	}, {
		name: "what is due is not locked", file: "contents.go",
		old: "text, args := takeDue,", new: "text, args := takeDue[:len(takeDue)-len(sqldb.Locked)],",
		pairs: []string{"pastes: Settle + pastes: Mark", "pastes: Mark + pastes: Mark"},
	}, {
		name: "contents are marked without a lock", file: "owned.go",
		old: "contentTexts{freeContents,", new: "contentTexts{strings.TrimSuffix(freeContents, \"{locked}\"),",
		pairs: []string{"pastes: Mark + pastes: put zero"},
	}, {
		name: "contents are marked under a lock that lets references pass", file: "owned.go",
		old: "contentTexts{freeContents,", new: "contentTexts{strings.Replace(freeContents, \"{locked}\", \"{exclusive}\", 1),",
		pairs: []string{"bare: Mark + bare: refer to zero"},
	}, {
		name: "contents are looked at before they are locked", file: "contents.go",
		old: "	seen, err := c.look(t, keys)\n	if err != nil {\n		return s, err\n	}\n", new: "",
		also:  [][2]string{{"	locked, err := all(t,", "	seen, err := c.look(t, keys)\n	if err != nil {\n		return s, err\n	}\n	locked, err := all(t,"}},
		pairs: []string{"pastes: Mark + pastes: put zero"},
	}, {
		name: "keys of objects are marked without a lock", file: "owned.go",
		old: "{ids 1} WHERE pg_try_advisory_xact_lock(` + ownedLock(\"t.id\") + `)`", new: "{ids 1}`",
		pairs: []string{"files: Mark + files: name zero"},
	}, {
		name: "outcomes lock no marks", file: "confirm.go",
		old: "}, markedRows,", new: "}, markedRows[:len(markedRows)-len(sqldb.Exclusive)],",
		pairs: []string{"pastes: Mark + pastes: Confirm late as failed"},
	}, {
		name: "marks change before their contents are locked", file: "confirm.go",
		old: "case len(seen) > 0 && c.texts().hold != \"\":", new: "case false:",
		pairs: []string{"pastes: Confirm + pastes: take_ of marked (repeatable read)"},
	}, {
		name: "contents are removed without a lock", file: "confirm.go",
		old: "if hold := c.texts().hold; hold != \"\" {", new: "if hold := \"\"; hold != \"\" {",
		pairs: []string{"loose: Confirm + loose: meddle with marked"},
	}, {
		name: "the guard is looked for before the contents", file: "contents.go",
		old: "s, err := c.sort(t, h, due)", new: "may := c.mayMark(t)\n		s, err := c.sort(t, h, due)",
		also:  [][2]string{{"if err := c.mayMark(t); err != nil {", "if err := may; err != nil {"}},
		pairs: []string{"guarded: Mark + guarded: RemoveGuard"},
	}, {
		name: "the guard is removed beside marks under way", file: "guard.go",
		old: "return c.script(ctx, \"remove the guard\", func(t *tx) error {\n		if err := c.db.engine.seal(t, c); err != nil {", new: "return c.script(ctx, \"remove the guard\", func(t *tx) error {\n		if err := error(nil); err != nil {",
		pairs: []string{"guarded: Mark + guarded: RemoveGuard"},
	}, {
		name: "guards are installed beside each other", file: "guard.go",
		old: "The tables at once, in one order: locks that come one by one may meet the application's.\n		if err := c.db.engine.seal(t, c); err != nil {", new: "The tables at once, in one order: locks that come one by one may meet the application's.\n		if err := error(nil); err != nil {",
		equivalent: "PostgreSQL refuses concurrent replacements of a function, and the collection is locked before",
	}, {
		name: "the guard holds no content", file: "guard_postgres.sql",
		old: "FOR KEY SHARE;", new: ";",
		pairs: []string{"bare: Mark + bare: refer to zero"},
	}, {
		name: "the guard looks before a content is there", file: "guard_postgres.sql",
		old: "AFTER INSERT ON {contents}", new: "BEFORE INSERT ON {contents}",
		pairs: []string{"pastes: End + pastes: take solo"},
	}, {
		name: "contents end without a lock against references", file: "settle.go",
		old: "scanContent, lockFree, keys", new: "scanContent, lockFree[:len(lockFree)-len(sqldb.Locked)], keys",
		pairs: []string{"loose: End + loose: row first of solo", "pastes: End + pastes: row first of solo"},
	}, {
		name: "contents that were locked end without a lock against references", file: "end.go",
		old: "text, c.texts().free,", new: "text, freeContents[:len(freeContents)-len(sqldb.Locked)],",
		pairs: []string{"loose: End + loose: row first of solo", "pastes: End + pastes: row first of solo"},
	}, {
		name: "the guard shares a content before it locks the mark", file: "guard_postgres.sql",
		old: ") LIKE 'read %'", new: ") LIKE '%'",
		pairs: []string{"pastes: Settle + pastes: row first of solo (repeatable read)"},
	}, {
		name: "the guard locks the mark of a content that is there", file: "guard_look_postgres.sql",
		old: "d.content = key COLLATE \"C\";\n    RETURN coalesce", new: "d.content = key COLLATE \"C\" FOR SHARE;\n    RETURN coalesce",
		pairs: []string{"pastes: Settle + pastes: row first of tried"},
	}, {
		name: "the guard locks no mark of a content that is gone", file: "guard_postgres.sql",
		old: "d.attempts > 0 FOR SHARE;", new: "d.attempts > 0;",
		pairs: []string{"pastes: Mark + pastes: put forgotten"},
	}, {
		name: "the guard holds no key", file: "guard_owned_postgres.sql",
		old: "PERFORM pg_advisory_xact_lock_shared(", new: "PERFORM int4larger(",
		pairs: []string{"files: Mark + files: name zero"},
	}, {
		name: "the guard goes by the snapshot", file: "guard_look_postgres.sql",
		old: "IN ('repeatable read', 'serializable')", new: "IN ('none')",
		pairs: []string{"pastes: Mark + pastes: put zero (repeatable read)"},
	}, {
		name: "a recount locks no contents", file: "recount.go",
		old: "text, lockCounts,", new: "text, lockCounts[:len(lockCounts)-len(sqldb.Exclusive)],",
		pairs: []string{"pastes: Recount + pastes: put drift"},
	}, {
		name: "a recount does not count again", file: "recount.go",
		old: "again, err := c.drifts(t, keys)", new: "again, err := drifts, error(nil)",
		pairs: []string{"pastes: Recount + pastes: put drift"},
	}, {
		name: "a folder is purged without a lock", file: "folders.go",
		old: "text, markedFolder,", new: "text, markedFolder[:len(markedFolder)-len(sqldb.Exclusive)],",
		pairs: []string{"folders: Forget marked + folders: Proceed"},
	}, {
		name: "keys without a row are allowed without a lock", file: "keys.go",
		old: "text, dueOrphans,", new: "text, dueOrphans[:len(dueOrphans)-len(sqldb.Exclusive)],",
		pairs:      []string{"keys: See + keys: Gone"},
		equivalent: "the transaction has just written these rows",
	}, {
		name: "what takes away does not hold the holds", file: "holds.go",
		old: "s.lock(t, lockShared)", new: "s.lock(t, lockShared[:len(lockShared)-len(sqldb.Shared)])",
		pairs: []string{"pastes: Mark + pastes: Hold the object zero"},
	}, {
		name: "what removes rows does not hold the holds", file: "cascades.go",
		old: "locked, err := all(t, sqldb.One[int64], removalHolds,", new: "locked, err := all(t, sqldb.One[int64], removalHolds[:len(removalHolds)-len(sqldb.Shared)],",
		pairs: []string{"pastes: Claim + pastes: Hold the row last"},
	}, {
		name: "holds are counted beside each other", file: "holds.go",
		old:   "	err = t.row(statement, s.name).Scan(&n)",
		new:   "	if statement == lockAlone {\n		statement = lockAlone[:len(lockAlone)-len(sqldb.Exclusive)]\n	}\n	err = t.row(statement, s.name).Scan(&n)",
		pairs: []string{"guarded: Hold + guarded: Release"},
	}, {
		name: "a move takes the place of another's", file: "quarantine.go",
		old: "{{newMoves, fresh}, {beginMoves, again}}", new: "{{beginMoves, fresh}, {beginMoves, again}}",
		pairs: []string{"quarantine: Begin new + quarantine: Begin new"},
	}, {
		name: "records of moved objects are not locked", file: "quarantine.go",
		old: "}, movingRows,", new: "}, movingRows[:len(movingRows)-len(sqldb.Exclusive)],",
		pairs: []string{"quarantine: Begin + quarantine: Moved late", "quarantine: End as purged + quarantine: End as left"},
	}, {
		name: "records that are claimed are not locked", file: "quarantine.go",
		old: "q.held(t, heldRowsOf,", new: "q.held(t, heldRowsOf[:len(heldRowsOf)-len(sqldb.Exclusive)],",
		pairs: []string{"quarantine: Claim to purge + quarantine: Claim to purge", "quarantine: Claim to purge + quarantine: Want"},
	}, {
		name: "marks end without a lock", file: "contents.go",
		old: "t.exec(overMarks,", new: "t.exec(overMarks[:len(overMarks)-len(sqldb.Locked+\")\")]+\")\",",
		pairs:      []string{"pastes: Unmark + pastes: Unmark"},
		equivalent: "the statement locks what it deletes itself, and counts that alone; nothing changes a mark that is over but another that ends it",
	},
}
