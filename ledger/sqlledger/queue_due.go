package sqlledger

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

const (
	// ownBlobs and ownBytes are freed with the last reference to a content.
	ownBlobs   = `(SELECT count(*) FROM blobs x WHERE x.content_id = c.id AND x.state = 2)`
	ownBytes   = `CASE WHEN c.body_no <> 0 THEN c.size ELSE (SELECT coalesce(sum(x.size), 0) FROM blobs x WHERE x.content_id = c.id AND x.state = 2) END`
	dueContent = `c.id, c.refs, ` + ownBlobs + `, ` + ownBytes

	indexedDue = `SELECT o.bucket_id, o.key, o.id, b.name, '', o.size, o.due_at, o.rule_no, o.ttl_at, o.idle_at, o.reads_left, ` + dueContent + `
		FROM objects o JOIN buckets b ON b.id = o.bucket_id LEFT JOIN contents c ON c.id = o.content_id
		WHERE o.due_at IS NOT NULL AND `
)

var (
	deferredDue = `SELECT o.bucket_id, o.key, o.id, b.name, '', o.size,
			` + dueOf(`o.`) + `,
			o.rule_no, o.ttl_at, o.idle_at, o.reads_left, ` + dueContent + `
		FROM deferred d JOIN objects o ON o.bucket_id = d.bucket_id AND o.key = d.key JOIN buckets b ON b.id = o.bucket_id
			LEFT JOIN contents c ON c.id = o.content_id
		WHERE d.entry = '' AND o.due_at IS NULL AND ` + dueOf(`o.`) + ` <> 0 AND `

	dueNamed = register(`SELECT o.bucket_id, o.key, o.due_at, o.content_id, o.rule_no, o.ttl_at, o.idle_at, o.id
		FROM ` + sqldb.Rows(1, "bucket_id text", "key text", "id text") + ` CROSS JOIN objects o
		WHERE o.bucket_id = t.bucket_id AND o.key = t.key AND o.id = t.id AND o.due_at IS NOT NULL AND o.due_at + 0 <= ?2
		ORDER BY o.due_at, o.size, o.bucket_id, o.key ` + sqldb.Locked)
	trashNamed = register(`SELECT r.id, r.purge_at, r.content_id, r.bucket, r.key
		FROM ` + sqldb.Rows(1, "id text") + ` CROSS JOIN trash r WHERE r.id = t.id AND r.purge_at + 0 <= ?2
		ORDER BY r.purge_at, r.size, r.id ` + sqldb.Locked)
	claimNamed = register(`WITH due AS MATERIALIZED (
			SELECT b.id FROM ` + sqldb.IDs(2) + ` CROSS JOIN blobs b
			WHERE b.id = t.id AND b.backend = ?1 AND b.state = 3 AND b.fence = 0 AND b.due_at <= ?3 AND (?7 = 0 OR b.late_until = 0)
			ORDER BY b.due_at, b.size, b.id LIMIT ?4 ` + sqldb.Locked + `)
		UPDATE blobs SET worker = ?5, fence = ?6, claimed_at = ?3 FROM due
		WHERE blobs.id = due.id RETURNING ` + qualified("blobs", blobColumns))
	claimNamedIntents = register(`WITH silent AS MATERIALIZED (
			SELECT b.id FROM ` + sqldb.IDs(1) + ` CROSS JOIN blobs b
			WHERE b.id = t.id AND b.state = 1 AND b.fence = 0 AND b.beat_at <= ?2 AND (?3 = '' OR b.backend = ?3)
			ORDER BY b.beat_at, b.size, b.id LIMIT ?4 ` + sqldb.Locked + `)
		UPDATE blobs SET worker = ?5, fence = ?6, claimed_at = ?7 FROM silent
		WHERE blobs.id = silent.id RETURNING ` + qualified("blobs", blobColumns))

	pageDueObjects = register(indexedDue + `o.due_at <= ?1 AND (o.due_at, o.size, o.bucket_id, o.key) > (?2, ?3, ?4, ?5)
		ORDER BY o.due_at, o.size, o.bucket_id, o.key LIMIT ?6`)
	pageDueOf = register(indexedDue + `length(o.bucket_id) >= 0 AND (o.bucket_id, o.due_at) <= (?4, ?1)
			AND (o.bucket_id, o.due_at, o.size, o.key) > (?4, ?2, ?3, ?5)
		ORDER BY o.bucket_id, o.due_at, o.size, o.key LIMIT ?6`)
	objectsNamed = register(`SELECT o.bucket_id, o.key, o.id, b.name, '', o.size, coalesce(o.due_at, 0), o.rule_no, o.ttl_at, o.idle_at, o.reads_left, ` + dueContent + `
		FROM ` + sqldb.Rows(1, "bucket_id text", "key text") + ` CROSS JOIN objects o JOIN buckets b ON b.id = o.bucket_id
			LEFT JOIN contents c ON c.id = o.content_id
		WHERE o.bucket_id = t.bucket_id AND o.key = t.key ORDER BY o.bucket_id, o.key`)
	pageDueTrash = register(`SELECT '', r.id, r.id, r.bucket, r.key, r.size, r.purge_at, 0, 0, 0, 0, ` + dueContent + `
		FROM trash r LEFT JOIN contents c ON c.id = r.content_id
		WHERE r.purge_at <= ?1 AND (r.purge_at, r.size, r.id) > (?2, ?3, ?4)
		ORDER BY r.purge_at, r.size, r.id LIMIT ?5`)
	trashByID = register(`SELECT '', r.id, r.id, r.bucket, r.key, r.size,
			CASE WHEN r.purge_at = 9223372036854775807 THEN coalesce(d.due_at, r.purge_at) ELSE r.purge_at END, 0, 0, 0, 0, ` + dueContent + `
		FROM ` + sqldb.IDs(1) + ` CROSS JOIN trash r LEFT JOIN contents c ON c.id = r.content_id LEFT JOIN buckets b ON b.name = r.bucket
			LEFT JOIN deferred d ON d.bucket_id = b.id AND d.key = r.key AND d.entry = r.id
		WHERE r.id = t.id ORDER BY r.id`)
	reapplying          = register(`SELECT bucket_id FROM reapplications ORDER BY bucket_id`)
	rulesRevision       = register(`SELECT rules_revision FROM store WHERE one = 1`)
	pageDeferredObjects = register(deferredDue + `(d.bucket_id, d.key) > (?1, ?2) ORDER BY d.bucket_id, d.key LIMIT ?3`)
	pageDeferredOf      = register(deferredDue + `d.bucket_id = ?1 AND d.key > ?2 ORDER BY d.key LIMIT ?3`)
	pageDeferredTrash   = register(`SELECT d.bucket_id, r.id, r.id, r.bucket, r.key, r.size, d.due_at, 0, 0, 0, 0, ` + dueContent + `
		FROM deferred d JOIN trash r ON r.id = d.entry LEFT JOIN contents c ON c.id = r.content_id
		WHERE d.entry <> '' AND (d.bucket_id, d.key, d.entry) > (?1, ?2, ?3) AND r.purge_at = ?5
		ORDER BY d.bucket_id, d.key, d.entry LIMIT ?4`)
	pageDueBlobs = register(`SELECT ` + blobColumns + ` FROM blobs
		WHERE backend = ?1 AND state = 3 AND fence = 0 AND due_at <= ?2 AND (due_at, size, id) > (?3, ?4, ?5)
		ORDER BY due_at, size, id LIMIT ?6`)
	pageIntents = register(`SELECT ` + blobColumns + ` FROM blobs
		WHERE state = 1 AND fence = 0 AND beat_at <= ?1 AND (beat_at, size, id) > (?2, ?3, ?4) AND (?5 = '' OR backend = ?5)
		ORDER BY beat_at, size, id LIMIT ?6`)
	// As rulesOf, without locks.
	readRules = register(`SELECT id, coalesce(name, ''), coalesce(name, was), rules, holds, owner, notify, evict FROM buckets WHERE id IN (SELECT id FROM ` + sqldb.IDs(1) + `)`)
)

// namedOf returns the rows taken, in the form of Batch.Only; nil if the batch has none.
func namedOf(b ledger.Batch, taken []dueRow) (out []ledger.Named) {
	if b.Only == nil {
		return nil
	}
	for _, d := range taken {
		out = append(out, ledger.Named{Bucket: d.Bucket, Key: d.Key, ID: d.version})
	}
	return out
}

// scanDueNamed is scanDueObject for a row with its version.
func (t *tx) scanDueNamed(r *sql.Rows) (d dueRow, err error) {
	var content sql.NullString
	var o ledger.Object
	err = r.Scan(&d.Bucket, &d.Key, &d.Due, &content, &d.rule, &o.TTLAt, &o.IdleAt, &d.version)
	return d.ending(t.Now, content, o), err
}

// DueObjects pages through the objects that Expire would remove by an instant.
func (db *DB) DueObjects(ctx context.Context, q ledger.DueQuery) (out ledger.DuePage, err error) {
	err = db.read(ctx, "objects that are due", func(t *tx) error {
		out, err = t.dueObjects(q)
		return err
	})
	return out, err
}

func (t *tx) dueObjects(q ledger.DueQuery) (out ledger.DuePage, err error) {
	if q.All {
		var now int64
		if err := t.Row(rulesRevision).Scan(&now); err != nil {
			return out, t.Failed(err)
		}
		if q.Rules, err = q.Revision(now); err != nil {
			return out, err
		}
	}
	if q.All && q.Unapplied == nil {
		pending, err := all(t, sqldb.One[lethe.ID], reapplying)
		if err != nil {
			return out, err
		}
		q.Unapplied = append([]lethe.ID{}, slices.DeleteFunc(pending, func(id lethe.ID) bool { return !q.Covers(id) })...)
	}
	if q.After.Part == ledger.DueUnapplied {
		out, err = t.dueUnapplied(q)
	} else {
		out, err = t.dueApplied(q)
	}
	out.Unapplied, out.Rules = q.Unapplied, q.Rules
	return out, err
}

// dueApplied pages through the objects that go by the stamp of a rule, if by one at all.
func (t *tx) dueApplied(q ledger.DueQuery) (out ledger.DuePage, err error) {
	indexed, deferred := pageDueObjects, pageDeferredObjects
	if q.Bucket != "" {
		q.After.Bucket, indexed, deferred = q.Bucket, pageDueOf, pageDeferredOf
	}
	var found []foundDue
	if q.After.Part == ledger.DueIndexed {
		found, err = all(t, t.scanDue, indexed, t.by(q), q.After.Due, q.After.Size, q.After.Bucket, q.After.Name, oneMore(q.Limit))
	} else {
		found, err = all(t, t.scanDue, deferred, q.After.Bucket, q.After.Name, oneMore(q.Limit))
	}
	if err != nil {
		return out, err
	}
	rules, err := t.rulesOfDue(found)
	if err != nil {
		return out, err
	}
	out, err = t.duePage(q, found, rules)
	out.Through(ledger.DueUnapplied, q)
	out.Rows = slices.DeleteFunc(out.Rows, func(d ledger.Due) bool { return slices.Contains(q.Unapplied, d.Bucket) })
	return out, err
}

// by returns the instant of a query.
func (t *tx) by(q ledger.DueQuery) lethe.Time { return cmp.Or(q.By, t.Now) }

// dueUnapplied pages through the objects of buckets whose rules are being reapplied, by the
// rules in force. Any of their stamps may be out of date.
func (t *tx) dueUnapplied(q ledger.DueQuery) (out ledger.DuePage, err error) {
	pending := q.Unapplied
	at, here := slices.BinarySearch(pending, q.After.Bucket)
	if at == len(pending) {
		return out, nil
	}
	bucket, after := pending[at], ""
	if here {
		after = q.After.Name
	}
	rules, err := t.rulesOfBuckets(readRules, []lethe.ID{bucket})
	if err != nil {
		return out, err
	}
	list, err := all(t, func(r *sql.Rows) (ledger.Object, error) { return scanObject(r) }, objectsAfter, bucket, after, bounded(q.Limit))
	if err != nil {
		return out, err
	}
	out.Next = ledger.DueMark{Part: ledger.DueUnapplied, Bucket: bucket}
	ends := map[string]ledger.Ending{}
	names := []ledger.Named{}
	for _, o := range list {
		out.Next.Name = o.Key
		if e := o.EndsAt(t.Now, rules[bucket].rules); e.At != 0 && e.At <= t.by(q) {
			ends[o.Key] = e
			names = append(names, ledger.Named{Bucket: bucket, Key: o.Key})
		}
	}
	if out.More = len(list) > 0 && len(list) == q.Limit; !out.More && at+1 < len(pending) {
		out.More, out.Next = true, ledger.DueMark{Part: ledger.DueUnapplied, Bucket: pending[at+1]}
	}
	found, err := all(t, t.scanDue, objectsNamed, sqldb.JSON(names))
	if err != nil {
		return out, err
	}
	held, err := t.heldOf(found, rules)
	for _, d := range found {
		d.Ending = ends[d.Key]
		_, d.Held = held[spot{bucket, d.Key}]
		out.Rows = append(out.Rows, d.Due)
	}
	return out, err
}

// heldOf returns which of the objects found are held.
func (t *tx) heldOf(found []foundDue, rules map[lethe.ID]namedRules) (map[spot]ledger.Hold, error) {
	var asked []dueRow
	for _, d := range found {
		if rules[d.Bucket].holds > 0 {
			asked = append(asked, dueRow{Bucket: d.Bucket, Key: d.Key})
		}
	}
	return t.heldBy(asked)
}

// DueTrash pages through the trash entries that Purge would remove by an instant.
func (db *DB) DueTrash(ctx context.Context, q ledger.DueQuery) (out ledger.DuePage, err error) {
	err = db.read(ctx, "trash entries that are due", func(t *tx) error {
		var found []foundDue
		if q.After.Part == ledger.DueIndexed {
			found, err = all(t, t.scanDue, pageDueTrash, t.by(q), q.After.Due, q.After.Size, q.After.Name, oneMore(q.Limit))
		} else {
			found, err = all(t, t.scanDue, pageDeferredTrash, q.After.Bucket, q.After.Key, q.After.Name, oneMore(q.Limit), lethe.Forever)
		}
		if err != nil {
			return err
		}
		out, err = t.duePageOfTrash(q, found)
		out.Through(ledger.DueDeferred, q)
		return err
	})
	return out, err
}

// TrashNamed returns the trash entries with these ids, whenever they are due. A deferred one is
// due when it was before.
func (db *DB) TrashNamed(ctx context.Context, ids []lethe.ID) (list []ledger.Due, err error) {
	err = db.read(ctx, "trash entries by name", func(t *tx) error {
		found, err := all(t, t.scanDue, trashByID, sqldb.JSON(ids))
		if err != nil {
			return err
		}
		p, err := t.duePageOfTrash(ledger.DueQuery{By: lethe.Forever}, found)
		list = p.Rows
		return err
	})
	return list, err
}

// duePageOfTrash is duePage of trash entries.
func (t *tx) duePageOfTrash(q ledger.DueQuery, found []foundDue) (out ledger.DuePage, err error) {
	names := make([]string, len(found))
	for i, d := range found {
		names[i] = d.BucketName
	}
	byName, err := t.bucketsWithHolds(readNamed, names)
	if err != nil {
		return out, err
	}
	for i, d := range found {
		found[i].under = spot{byName[d.BucketName], d.ObjectKey}
		found[i].from, found[i].Bucket = d.Bucket, ""
	}
	return t.duePage(q, found, nil)
}

// DueBlobs pages through the blobs of a backend that ClaimCondemned would claim now, or, for
// state Pending, ClaimIntents.
func (db *DB) DueBlobs(ctx context.Context, q ledger.DueQuery) (out []ledger.Blob, err error) {
	err = db.read(ctx, "blobs that are due", func(t *tx) error {
		a := q.After
		if q.State == lethe.Pending {
			out, err = all(t, scanBlob, pageIntents, t.Now.Add(-q.MinAge), a.Due, a.Size, a.Name, q.Backend, bounded(q.Limit))
			return err
		}
		out, err = all(t, scanBlob, pageDueBlobs, q.Backend, t.Now, a.Due, a.Size, a.Name, bounded(q.Limit))
		return err
	})
	return out, err
}

// ObjectsNamed returns the current rows under the keys of named objects: the version in ID,
// and the due time in At, 0 for never.
func (db *DB) ObjectsNamed(ctx context.Context, names []ledger.Named) (out []ledger.Due, err error) {
	err = db.read(ctx, "objects by name", func(t *tx) error {
		found, err := all(t, t.scanDue, objectsNamed, sqldb.JSON(names))
		out = nil
		for _, d := range found {
			out = append(out, d.Due)
		}
		return err
	})
	return out, err
}

// foundDue is a due row, with the number of the rule of its stamp.
type foundDue struct {
	ledger.Due
	rule  int64
	ends  ledger.Stamped
	from  lethe.ID // a deferred trash entry's bucket
	under spot     // where a hold may cover it; without a bucket: no hold does
}

func (t *tx) scanDue(r *sql.Rows) (d foundDue, err error) {
	var name, content sql.NullString
	var refs, blobs, bytes sql.NullInt64
	err = r.Scan(&d.Bucket, &d.Key, &d.ID, &name, &d.ObjectKey, &d.Size, &d.At, &d.rule, &d.ends.TTL, &d.ends.Idle, &d.ends.ReadsLeft, &content, &refs, &blobs, &bytes)
	d.ends.Due = d.At
	d.BucketName, d.Content, d.Refs, d.Blobs, d.BlobBytes = name.String, lethe.ID(content.String), refs.Int64, blobs.Int64, bytes.Int64
	return d, err
}

// duePage makes a page of the rows, without those that are due only by a rule no longer in
// force.
func (t *tx) duePage(q ledger.DueQuery, found []foundDue, rules map[lethe.ID]namedRules) (out ledger.DuePage, err error) {
	if out.More = q.Limit > 0 && len(found) > q.Limit; out.More {
		found = found[:q.Limit]
	}
	var asked []dueRow
	for _, d := range found {
		if d.under.bucket != "" {
			asked = append(asked, dueRow{Bucket: d.under.bucket, Key: d.under.key})
		}
	}
	held, err := t.heldBy(asked)
	if err != nil {
		return out, err
	}
	for _, d := range found {
		_, d.Due.Held = held[d.under]
		out.Next = d.mark(q.After.Part)
		ends := true
		if d.Bucket == "" {
			d.By = ledger.EndsByUndo
		} else {
			d.Ending, ends = d.ends.Ends(t.Now, rules[d.Bucket].rules.InForce(d.rule))
		}
		if ends && d.At <= t.by(q) {
			out.Rows = append(out.Rows, d.Due)
		}
	}
	return out, nil
}

// mark returns the position of a row.
func (d foundDue) mark(part ledger.DuePart) ledger.DueMark {
	switch {
	case part == ledger.DueIndexed:
		return ledger.DueMark{Due: d.At, Size: d.Size, Bucket: d.Bucket, Name: d.Key}
	case d.Bucket == "":
		return ledger.DueMark{Part: part, Bucket: d.from, Key: d.ObjectKey, Name: d.Key}
	}
	return ledger.DueMark{Part: part, Bucket: d.Bucket, Name: d.Key}
}

// rulesOfDue returns the rules of the objects' buckets, and sets which objects are held.
func (t *tx) rulesOfDue(found []foundDue) (map[lethe.ID]namedRules, error) {
	var buckets []lethe.ID
	for _, d := range found {
		if !slices.Contains(buckets, d.Bucket) {
			buckets = append(buckets, d.Bucket)
		}
	}
	if len(buckets) == 0 {
		return nil, nil
	}
	rules, err := t.rulesOfBuckets(readRules, buckets)
	for i, d := range found {
		if rules[d.Bucket].holds > 0 {
			found[i].under = spot{d.Bucket, d.Key}
		}
	}
	return rules, err
}
