package interleave_test

// mutant is the ledger without a lock, or without a second look.
type mutant struct {
	name string
	file string // in ledger/sqlledger
	old  string // must occur exactly once
	new  string
	also [][2]string // more edits of the file
	// pairs are those that are tried, with every interruption.
	pairs []string
	// equivalent says why nobody can see it: no pair shows it.
	equivalent string
}

var table = []mutant{
	{
		name: "the key is not locked", file: "locks.go",
		old: "pg_advisory_xact_lock_shared(?2), pg_advisory_xact_lock(?3)", new: "pg_advisory_xact_lock_shared(?2), CAST(?3 AS BIGINT)",
		pairs: []string{"Commit new over a + Update a", "Commit new over a + Commit solo over a"},
	}, {
		name: "a known content is not held", file: "content.go",
		old: "if err := t.lockContents(c.id, w.losing()); err != nil || c.id == \"\" {", new: "if err = nil; c.id == \"\" {",
		pairs: []string{"Commit solo as n + Delete s", "Commit inline solo over i + Delete is"},
	}, {
		name: "where a content lies is not looked at again", file: "content.go",
		old: "	if t.concurrentWriters() { // it may", new: "	if t.Now < 0 { // it may",
		pairs: []string{"Commit solo as n + MoveToLedger solo", "Commit inline solo over i + CommitCopy of inline solo"},
	}, {
		name: "contents are not locked", file: "locks.go",
		old: "(c.closed = 0 OR c.id <> ?2) `+sqldb.ExclusiveBy(\"c.id\"))", new: "(c.closed = 0 OR c.id <> ?2)`)",
		pairs: []string{"Commit solo over a + Delete s and a", "Delete a + Expire"},
	}, {
		name: "references fall without the content's lock", file: "content_refs.go",
		old: "if err := t.lockContents(\"\", names...); err != nil {", new: "if err := error(nil); err != nil {",
		pairs: []string{"Delete a + Expire", "Delete a and s + Delete s and a"},
	}, {
		name: "closed is not looked at again", file: "locks.go",
		old: "(c.closed = 0 OR c.id <> ?2)", new: "(c.closed = 0 OR c.id <> ?2 OR c.closed = 1)",
		pairs: []string{"Commit two without bytes + Commit two into q", "Commit two without bytes + Commit two without bytes"},
	}, {
		name: "a delete does not look again", file: "object_delete.go",
		old: "if err != nil || len(anew) > 0 {", new: "if err != nil || len(anew) > ledger.MaxDeletion {",
		pairs: []string{"Commit new over a + Delete a"},
	}, {
		name: "an update does not hold the key", file: "object_update.go",
		old: "t.lockKey(u.Bucket, u.Key)", new: "t.ruledBucket(u.Bucket)",
		pairs: []string{"Commit new over a + Update a"},
	}, {
		name: "complete does not hold the upload", file: "upload_complete.go",
		old: "if err := t.lockUpload(c.UploadID); err != nil {", new: "if err := error(nil); err != nil {",
		pairs: []string{"Complete up + Complete up with its first part", "Complete up + CommitPart 1", "Complete up + AbortUpload", "Complete up + CommitCopy of a part"},
	}, {
		name: "marks hold no contents", file: "blob_marks.go",
		old: "if err := t.lockContentsOf(blobs); err != nil {", new: "if err := error(nil); err != nil {",
		also:  [][2]string{{"case t.concurrentWriters() && !t.locked[m.content]:", "case t.Now < 0:"}},
		pairs: []string{"Commit solo over a + MarkSuspect both copies of solo and one", "MarkSuspect one copy of solo + TrimCopies there", "MarkSound solo + TrimCopies there"},
	}, {
		name: "marks lock no blobs", file: "blob_marks.go",
		old: "WHERE b.id = t.id AND b.state = 2 ` + sqldb.ExclusiveBy(\"b.id\"))", new: "WHERE b.id = t.id AND b.state = 2`)",
		pairs: []string{"Complete up + MarkSuspect a part"},
	}, {
		name: "a trim does not lock the content", file: "placement_copy.go",
		old: "if err := t.Must(1, lethe.ErrContentGone, lockContentRow, r.Content); err != nil {", new: "if err := error(nil); err != nil {",
		pairs: []string{"TrimCopies here + TrimCopies there"},
	}, {
		name: "a copy locks neither content nor upload", file: "placement_copy.go",
		old: "if err := t.Must(1, gone, lock, owner); err != nil {", new: "if _, _ = lock, owner; err != nil {",
		pairs: []string{"Complete up + CommitCopy of a part", "CommitPart 1 + CommitCopy of a part", "Delete s and a + BeginCopy of solo", "AbortUpload + BeginCopy of a part", "BeginCopy of one + CommitCopy of one"},
	}, {
		name: "a copy does not read again", file: "placement_copy.go",
		old: "now, err := t.oneBlob(sourceBlob, id)", new: "now, err := src, error(nil)",
		pairs: []string{"Complete up + CommitCopy of a part", "CommitPart 1 + CommitCopy of a part", "Complete up + BeginCopy of a part", "TrimCopies here + BeginCopy of solo"},
		equivalent: "the lock refuses what it belonged to and is gone; movePart names the blob that it replaces, pendingCopy its state, " +
			"the placement its fence; and a copy begun of what was condemned meanwhile comes to what one begun before comes to",
	}, {
		name: "an outcome is not awaited", file: "op.go",
		old: "if err := t.awaitOp(op); err != nil {", new: "if err := error(nil); err != nil {",
		pairs: []string{"Outcome + Complete up"},
	}, {
		name: "the gate of quotas is open", file: "quota.go",
		old: "_, err := q.t.exists(query, gateOf(\"quota\", q.name))", new: "_ = query\n	err := error(nil)",
		pairs: []string{"Begin on what is small + Begin on what is small"},
	}, {
		name: "claims lock no rows", file: "blob_clean.go",
		old: "ORDER BY due_at LIMIT ?4 ` + sqldb.Locked + `)", new: "ORDER BY due_at LIMIT ?4)",
		pairs: []string{"ClaimCondemned + ClaimCondemned"},
	}, {
		name: "a pending blob is not locked", file: "content.go",
		old: "AND state = 1 AND fence = ?2 ` + sqldb.Exclusive)", new: "AND state = 1 AND fence = ?2`)",
		pairs: []string{"Commit new over a + Beat of new", "CommitPart 1 + Beat of a part", "Beat of new + Beat of new"},
	}, {
		name: "settle locks no rows", file: "blob_settle.go",
		old: "AND b.fence + 0 = ?2 AND b.fence <> 0 `+sqldb.Exclusive)", new: "AND b.fence + 0 = ?2 AND b.fence <> 0`)",
		pairs: []string{"RecoverClaims + Settle as gone", "Settle as gone + Settle as failed"},
	}, {
		name: "a claim does not hold the backend", file: "blob_clean.go",
		old: "b, err := t.backend(r.Backend)", new: "b, err := t.oneBackend(r.Backend, selectBackend, r.Backend)",
		pairs: []string{"ClaimCondemned + HoldBackend"},
	}, {
		name: "a part does not hold its upload", file: "upload.go",
		old:   "if err := t.Must(1, lethe.ErrNoSuchUpload, touchUpload, p.UploadID, t.Now); err != nil {",
		new:   "if _, err := t.uploadByID(p.UploadID); err != nil {",
		pairs: []string{"Complete up + CommitPart 1", "CommitPart 1 + AbortUpload", "CommitPart 1 + CommitPart 1"},
	}, {
		name: "a stale upload is not read again", file: "upload_overdue.go",
		old: "if t.concurrentWriters() {\n		u, err = t.uploadByID(id)", new: "if t.Now < 0 {\n		u, err = t.uploadByID(id)",
		pairs: []string{"CommitPart 1 + AbortStale"},
	}, {
		name: "a used promotion is not noticed", file: "blob_reap.go",
		old: "if err == nil && !slices.ContainsFunc(", new: "if err == nil && t.Now < 0 && !slices.ContainsFunc(",
		pairs: []string{"Commit new over a + Promote"},
	}, {
		name: "expiry does not hold the buckets", file: "rules.go",
		old: "WHERE id IN (SELECT id FROM ` + sqldb.IDs(1) + `) ORDER BY id ` + sqldb.Shared)", new: "WHERE id IN (SELECT id FROM ` + sqldb.IDs(1) + `) ORDER BY id`)",
		pairs: []string{"Expire + AddHold on b", "Expire + SetRules to none"},
	}, {
		name: "purge does not hold the buckets", file: "trash_purge.go",
		old: "ORDER BY id ` + sqldb.Shared)", new: "ORDER BY id`)",
		pairs: []string{"Purge + AddHold on u"},
	}, {
		name: "expire locks no objects", file: "object_expire.go",
		old: "ORDER BY due_at LIMIT ?3 ` + sqldb.Locked)", new: "ORDER BY due_at LIMIT ?3`)",
		pairs: []string{"Update due so that it is held and longer + Expire", "Expire + Expire"},
	}, {
		name: "an intent does not hold its upload", file: "blob_intent.go",
		old: "openUpload  = register(`SELECT 1 FROM uploads WHERE id = ?1 ` + sqldb.Shared)", new: "openUpload  = register(`SELECT 1 FROM uploads WHERE id = ?1`)",
		pairs: []string{"Complete up + Begin a part", "Begin a part + AbortUpload"},
	}, {
		name: "the source of a copy is not held", file: "object_source.go",
		old: "if err := w.t.lockContents(\"\", o.ContentID, w.losing()); err != nil {", new: "if err := error(nil); err != nil {",
		pairs: []string{"Commit a copy of s + Delete s and a"},
	}, {
		name: "limits are not locked", file: "limit.go",
		old: "if _, err := t.exists(closeGate, gateOf(\"limit\", string(kind)+\"\\x00\"+subject)); err != nil {", new: "if err := error(nil); err != nil {",
		pairs: []string{"ClaimCondemned within limits + ClaimCondemned within limits", "Expire within limits + Expire within limits", "AllowBeyondLimit + Purge within limits", "AllowBeyondLimit + EndTrips"},
	}, {
		name: "owners are not held", file: "bucket.go",
		old: "if _, err := t.exists(closeGate, gateOf(\"owner\", owner)); err != nil {", new: "if err := error(nil); err != nil {",
		pairs: []string{"CreateBucket as the last + CreateBucket as the last"},
	}, {
		name: "the place of a reapply is not locked", file: "rules_reapply.go",
		old: "FROM reapplications WHERE bucket_id = ?1 ` + sqldb.Exclusive)", new: "FROM reapplications WHERE bucket_id = ?1`)",
		pairs: []string{"ReapplyRules + ReapplyRules"},
	}, {
		name: "the place of a release is not locked", file: "hold_deferred.go",
		old: "FROM releases WHERE bucket_id = ?1 AND prefix = ?2 ` + sqldb.Exclusive)", new: "FROM releases WHERE bucket_id = ?1 AND prefix = ?2`)",
		pairs: []string{"ReturnDeferred + ReturnDeferred"},
	}, {
		name: "what a blob belongs to is not held", file: "placement_copy.go",
		old: "	if err := t.Must(1, gone, lock, owner); err != nil {", new: "	if err := error(nil); lock == \"\" || owner == \"\" {",
		pairs: []string{"Commit lost as n + TakeOrphan", "MarkSound lost + TakeOrphan", "Delete lost + TakeOrphan", "TakeOrphan + TakeOrphan"},
	}, {
		name: "claims of intents lock no rows", file: "blob_reap.go",
		old: "ORDER BY beat_at LIMIT ?4 ` + sqldb.Locked + `)", new: "ORDER BY beat_at LIMIT ?4)",
		pairs: []string{"ClaimIntents + ClaimIntents", "Commit new over a + ClaimIntents"},
	}, {
		name: "claims of placements lock no rows", file: "placement_queue.go",
		old: "WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2 ` + sqldb.Locked + `)", new: "WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2)",
		pairs: []string{"ClaimPlacements + ClaimPlacements"},
	}, {
		name: "stale claims lock no rows", file: "blob_clean.go",
		old: "ORDER BY fence LIMIT ?2 ` + sqldb.Locked + `)", new: "ORDER BY fence LIMIT ?2)",
		pairs: []string{"RecoverClaims + RecoverClaims", "RecoverClaims + Settle as failed", "RecoverClaims + ClaimCondemned"},
	}, {
		name: "a delete locks no objects", file: "object_delete.go",
		old: "o.idle_at <= ?3)`, sqldb.Exclusive)", new: "o.idle_at <= ?3)`, ``)",
		pairs: []string{"Delete a + Update a", "Commit new over a + Delete a", "Delete a + Delete a", "Delete a and s + Delete s and a"},
	},
}
