package sqlledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

// usedObjects leaves attributes out: they may be long, and counting needs none.
const usedObjects = `SELECT o.bucket_id, o.key, o.id, o.content_id, o.size, '', o.modified_at, o.ttl_at, o.rule_at, '{}', o.tags, o.rule_no, o.reads_left, o.idle_for, o.idle_at, o.used_at, coalesce(c.refs, 1), ` + ownBytes + `
	FROM objects o LEFT JOIN contents c ON c.id = o.content_id WHERE o.bucket_id = ?1 AND `

var (
	usedBehind = register(usedObjects + `o.key > ?2 AND (?3 = '' OR o.key < ?3) ORDER BY o.key LIMIT ?4`)
	usedFrom   = register(usedObjects + `o.key >= ?2 AND (?3 = '' OR o.key < ?3) ORDER BY o.key LIMIT ?4`)
	usedTrash  = register(`SELECT e.id, e.key, coalesce(e.content_id, ''), e.size, CASE WHEN e.purge_at = 9223372036854775807 THEN coalesce(d.due_at, e.purge_at) ELSE e.purge_at END,
			coalesce(c.refs, 1), ` + ownBytes + `
		FROM trash e LEFT JOIN contents c ON c.id = e.content_id
			LEFT JOIN deferred d ON d.bucket_id = ?1 AND d.key = e.key AND d.entry = e.id
		WHERE e.bucket = ?2 AND e.key >= ?3 AND (e.key > ?3 OR e.id > ?4) AND (?5 = '' OR e.key < ?5)
		ORDER BY e.key, e.id LIMIT ?6`)
	trashOfDeleted = register(`WITH RECURSIVE names(name) AS (SELECT min(bucket) FROM trash
			UNION ALL SELECT (SELECT min(e.bucket) FROM trash e WHERE e.bucket > n.name) FROM names n WHERE n.name IS NOT NULL)
		SELECT name FROM names WHERE name IS NOT NULL AND NOT EXISTS (SELECT 1 FROM buckets b WHERE b.name = names.name) ORDER BY name`)

	namedBucket   = register(`SELECT 1 FROM buckets WHERE id = ?1 AND name IS NOT NULL ` + sqldb.Shared)
	insertUsage   = register(`INSERT INTO usages (bucket_id, taken_at, brief, document) VALUES (?1, ?2, ?3, ?4)`)
	shortenUsages = register(`UPDATE usages SET document = ?3 WHERE bucket_id = ?1 AND taken_at < ?2 AND length(document) > 0`)
	// An hour has 3,600,000,000 microseconds, a day 86,400,000,000.
	replaceUsages = register(`DELETE FROM usages WHERE bucket_id = ?1 AND (taken_at < ?3 OR taken_at >= ?2 OR taken_at / 3600000000 = ?2 / 3600000000
		AND EXISTS (SELECT 1 FROM usages n WHERE n.bucket_id = ?1 AND n.taken_at < usages.taken_at AND n.taken_at / 3600000000 = usages.taken_at / 3600000000))`)
	thinUsages = register(`DELETE FROM usages WHERE bucket_id = ?1 AND taken_at < ?2
		AND EXISTS (SELECT 1 FROM usages n WHERE n.bucket_id = ?1 AND n.taken_at > usages.taken_at AND n.taken_at / 86400000000 = usages.taken_at / 86400000000)`)
	deleteUsages = register(`DELETE FROM usages WHERE bucket_id = ?1`)
	pageUsages   = register(`SELECT b.id, b.name, u.taken_at, u.brief, CASE WHEN ?4 = 1 THEN u.document ELSE ?6 END
		FROM buckets b JOIN usages u ON u.bucket_id = b.id AND u.taken_at = coalesce(
			(SELECT max(n.taken_at) FROM usages n WHERE n.bucket_id = b.id AND n.taken_at <= ?3),
			(SELECT min(n.taken_at) FROM usages n WHERE n.bucket_id = b.id))
		WHERE b.name > ?2 AND (?1 = '' OR b.name = ?1) ORDER BY b.name LIMIT ?5`)
)

// UsageObjects returns a page of a bucket's object rows in byte order of their keys, due ones
// included, with the ledger's time: ErrNoSuchBucket.
func (db *DB) UsageObjects(ctx context.Context, q ledger.UsageQuery) (now lethe.Time, list []ledger.ObjectUse, err error) {
	err = db.walk(ctx, "count objects of "+q.Bucket, func(t *tx) error {
		now = t.Now
		b, err := t.bucket(q.Bucket)
		if err != nil {
			return err
		}
		text, from := usedBehind, q.AfterKey
		if from < q.Prefix {
			text, from = usedFrom, q.Prefix
		}
		list, err = all(t, func(r *sql.Rows) (u ledger.ObjectUse, err error) {
			u.Object, err = scanObject(r, &u.Refs, &u.BlobBytes)
			u.Object.Bucket = q.Bucket
			return u, err
		}, text, b.ID, from, following(q.Prefix), bounded(q.Limit))
		if err != nil {
			return err
		}
		return t.markHeld(b, len(list), func(i int) (string, *bool) { return list[i].Key, &list[i].Held })
	})
	return now, list, err
}

// UsageTrash returns a page of the trash of a bucket, by key and id: ErrNoSuchBucket.
func (db *DB) UsageTrash(ctx context.Context, q ledger.UsageQuery) (list []ledger.TrashUse, err error) {
	err = db.walk(ctx, "count the trash of "+q.Bucket, func(t *tx) error {
		b, err := t.bucket(q.Bucket)
		if err != nil && !(q.Deleted && errors.Is(err, lethe.ErrNoSuchBucket)) {
			return err
		}
		from, after := q.AfterKey, q.AfterEntry
		if from < q.Prefix {
			from, after = q.Prefix, ""
		}
		list, err = all(t, func(r *sql.Rows) (u ledger.TrashUse, err error) {
			err = r.Scan(&u.ID, &u.Key, &u.ContentID, &u.Size, &u.PurgeAt, &u.Refs, &u.BlobBytes)
			return u, err
		}, usedTrash, b.ID, q.Bucket, from, after, following(q.Prefix), bounded(q.Limit))
		if err != nil {
			return err
		}
		return t.markHeld(b, len(list), func(i int) (string, *bool) { return list[i].Key, &list[i].Held })
	})
	return list, err
}

// TrashOfDeleted returns the names of buckets that were deleted, and still have trash. It costs one
// index lookup for each name that has trash.
func (db *DB) TrashOfDeleted(ctx context.Context) (names []string, err error) {
	err = db.read(ctx, "trash of deleted buckets", func(t *tx) error {
		names, err = all(t, sqldb.One[string], trashOfDeleted)
		return err
	})
	return names, err
}

// markHeld sets which of n keys of a bucket are held.
func (t *tx) markHeld(b ledger.Bucket, n int, of func(i int) (key string, held *bool)) error {
	if b.Holds == 0 {
		return nil
	}
	keys := make([]dueRow, n)
	for i := range keys {
		key, _ := of(i)
		keys[i] = dueRow{Bucket: b.ID, Key: key}
	}
	by, err := t.heldBy(keys)
	for i, k := range keys {
		_, held := of(i)
		_, *held = by[spot{b.ID, k.Key}]
	}
	return err
}

// SaveUsage records a count of a bucket as its newest, and empties the documents of the
// others: ErrNoSuchBucket. Of each hour of the last day the first and the last record are
// kept, of older days the last one, for the time given. Records taken later than this one,
// when the clock was ahead, go.
func (db *DB) SaveUsage(ctx context.Context, r ledger.UsageRecord, keep time.Duration) error {
	return db.batch(ctx, "save the usage of bucket "+string(r.Bucket), func(t *tx) error {
		if t.concurrentWriters() { // of two counts the later one has to see the other
			if _, err := t.exists(closeGate, gateOf("usage", string(r.Bucket))); err != nil {
				return err
			}
		}
		if named, err := t.exists(namedBucket, r.Bucket); err != nil || !named {
			return cmp.Or(err, lethe.ErrNoSuchBucket)
		}
		if _, err := t.Send(replaceUsages, r.Bucket, r.TakenAt, r.TakenAt.Add(-keep)); err != nil {
			return err
		}
		if _, err := t.Send(insertUsage, r.Bucket, r.TakenAt, notNil(r.Brief), notNil(r.Document)); err != nil {
			return err
		}
		if _, err := t.Send(shortenUsages, r.Bucket, r.TakenAt, []byte{}); err != nil {
			return err
		}
		_, err := t.Send(thinUsages, r.Bucket, r.TakenAt.Add(-24*time.Hour))
		return err
	})
}

// UsageRecords returns a page of records, by the names of their buckets.
func (db *DB) UsageRecords(ctx context.Context, q ledger.UsageRecordQuery) (list []ledger.UsageRecord, err error) {
	err = db.read(ctx, "usage", func(t *tx) error {
		list, err = all(t, func(r *sql.Rows) (u ledger.UsageRecord, err error) {
			err = r.Scan(&u.Bucket, &u.Name, &u.TakenAt, &u.Brief, &u.Document)
			if len(u.Document) == 0 {
				u.Document = nil
			}
			return u, err
		}, pageUsages, q.Bucket, q.After, q.UpTo, flag(q.Document), bounded(q.Limit), []byte{})
		return err
	})
	return list, err
}

// notNil returns an empty value for nil, which would be stored as NULL.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
