package sqlledger

import (
	"context"
	"database/sql"
	"errors"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

// KeyFacts is what the ledger knows of a key, for explain: why an object exists, or where it
// went.
type KeyFacts struct {
	// Object is the row under the key, nil if none. It may have expired and wait to be
	// reclaimed; readers do not see it then.
	Object *ledger.Object
	// Trash are the entries under the key that can still be restored or wait to be purged,
	// oldest first.
	Trash []ledger.TrashEntry
	// Ops are the operations that wrote these versions, while they are kept.
	Ops []ledger.Outcome
	// Events of the key in the bucket of this name are not delivered: up to maxKeyEvents that
	// wait, then as many dead letters, each by target and number.
	Events []ledger.Event
	// Earlier are the objects that were used before it in a bucket that evicts: MaxEarlier and the
	// bytes of so many if there are more.
	Earlier ledger.Room
	Now     lethe.Time
}

// MaxEarlier bounds the objects of KeyFacts that were used before its own.
const MaxEarlier = 10_000

// maxKeyEvents bounds the events of KeyFacts that wait, and its dead letters.
const maxKeyEvents = 10

const contentColumns = `id, domain, kind, digest, size, refs, closed, created_at, body_no`

// ruledBy is the rest of a statement about one object: its bucket's rules, if one ends it.
var ruledBy = `b.evict, b.evict_age, CASE WHEN o.rule_no <> 0 THEN b.rules ELSE '' END FROM buckets b
		JOIN objects o ON o.bucket_id = b.id AND o.key = ` + keyIn("b") + ` WHERE b.name = ?1`

var (
	keyObject      = register(`SELECT ` + qualified("o", objectColumns) + `, ` + ruledBy)
	explainContent = register(`SELECT ` + contentColumns + ` FROM contents WHERE id = ?1`)
	explainBlobs   = register(`SELECT ` + blobColumns + ` FROM blobs WHERE content_id = ?1
		ORDER BY segment, replica, id`)
	// A content has a bounded number of references, which are sorted for each page.
	explainSharers = register(`SELECT bucket, key, trash, id FROM (
			SELECT coalesce(b.name, '') AS bucket, o.key AS key, 0 AS trash, o.id AS id
				FROM objects o JOIN buckets b ON b.id = o.bucket_id WHERE o.content_id = ?1
			UNION ALL SELECT bucket, key, 1, id FROM trash WHERE content_id = ?1) AS s
		WHERE trash > ?2 OR trash = ?2 AND id > ?3 ORDER BY trash, id LIMIT ?4`)
	explainTrash  = register(`SELECT ` + trashColumns + ` FROM trash WHERE bucket = ?1 AND key = ?2 ORDER BY id`)
	explainEvents = register(`SELECT ` + eventColumns + ` FROM events
		WHERE bucket_id = (SELECT id FROM buckets WHERE name = ?1) AND key = ?2 AND dead = 0 ORDER BY target, no LIMIT ?3`)
	explainDeadEvents = register(`SELECT ` + eventColumns + ` FROM events
		WHERE bucket_id = (SELECT id FROM buckets WHERE name = ?1) AND key = ?2 AND dead = 1 ORDER BY target, no LIMIT ?3`)
	usedEarlier = register(`SELECT count(*), coalesce(sum(size), 0) FROM (SELECT size FROM objects
		WHERE bucket_id = ?1 AND used_at IS NOT NULL AND (used_at, key) < (?2, ?3) ORDER BY used_at, key LIMIT ?4) AS earlier`)
	explainOps = register(`SELECT id, what, object_id, at FROM ops
		WHERE id IN (SELECT id FROM ` + sqldb.IDs(1) + `) ORDER BY at, id`)
)

// ContentByID returns a content's row: ErrContentGone if nothing refers to it any more.
func (db *DB) ContentByID(ctx context.Context, id lethe.ID) (c ledger.Content, err error) {
	err = db.read(ctx, "content "+string(id), func(t *tx) error {
		list, err := all(t, scanContent, explainContent, id)
		if err == nil && len(list) == 0 {
			err = lethe.ErrContentGone
		}
		if len(list) == 1 {
			c = list[0]
		}
		return err
	})
	return c, err
}

// ContentBlobs returns all blobs of a content in any state, by segment and replica. Blobs
// keep the content's id after it is gone.
func (db *DB) ContentBlobs(ctx context.Context, content lethe.ID) (blobs []ledger.Blob, err error) {
	err = db.read(ctx, "blobs of content "+string(content), func(t *tx) error {
		blobs, err = all(t, scanBlob, explainBlobs, content)
		return err
	})
	return blobs, err
}

// Sharers returns a page of the objects that refer to a content, then of the trash entries,
// each by id. The bucket's name is empty if it was deleted.
func (db *DB) Sharers(ctx context.Context, q ledger.SharerQuery) (sharers []ledger.Sharer, err error) {
	trash := 0
	if q.After.Trash {
		trash = 1
	}
	err = db.read(ctx, "sharers of content "+string(q.Content), func(t *tx) error {
		sharers, err = all(t, func(r *sql.Rows) (s ledger.Sharer, err error) {
			err = r.Scan(&s.Bucket, &s.Key, &s.Trash, &s.ID)
			return s, err
		}, explainSharers, q.Content, trash, q.After.ID, bounded(q.Limit))
		return err
	})
	return sharers, err
}

// ExplainKey returns what is under a key, expired or not, and in the trash. A deleted bucket has
// no objects, but may have trash.
func (db *DB) ExplainKey(ctx context.Context, bucket, key string) (f KeyFacts, err error) {
	err = db.read(ctx, "explain "+bucket+"/"+key, func(t *tx) error {
		f = KeyFacts{Now: t.Now}
		var in ledger.Eviction
		if f.Object, in, err = t.ruledObject(keyObject, bucket, key); err != nil {
			return err
		}
		if o := f.Object; o != nil && in.On() && o.UsedAt != 0 {
			row := t.Row(usedEarlier, o.BucketID, o.UsedAt, o.Key, MaxEarlier)
			if err := row.Scan(&f.Earlier.Objects, &f.Earlier.Bytes); err != nil {
				return t.Failed(err)
			}
		}
		if f.Trash, err = all(t, scanTrash, explainTrash, bucket, key); err != nil {
			return err
		}
		for _, text := range []string{explainEvents, explainDeadEvents} {
			list, err := all(t, scanEvent, text, bucket, key, maxKeyEvents)
			if err != nil {
				return err
			}
			f.Events = append(f.Events, list...)
		}
		f.Ops, err = all(t, func(r *sql.Rows) (o ledger.Outcome, err error) {
			err = r.Scan(&o.Op, &o.What, &o.ObjectID, &o.At)
			return o, err
		}, explainOps, sqldb.JSON(f.versions()))
		return err
	})
	return f, err
}

// versions returns the ids of the versions found. Each is the id of the operation that wrote
// it.
func (f KeyFacts) versions() []lethe.ID {
	out := []lethe.ID{}
	if f.Object != nil {
		out = append(out, f.Object.ID)
	}
	for _, e := range f.Trash {
		out = append(out, e.Object.ID)
	}
	return out
}

func (t *tx) ruledObject(query, bucket, key string) (*ledger.Object, ledger.Eviction, error) {
	var rules string
	var in ledger.Eviction
	var age int64
	o, err := scanObject(t.Row(query, bucket, key), &in.Order, &age, &rules)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, in, nil
	}
	if err != nil {
		return nil, in, t.Failed(err)
	}
	o.Bucket, in.MinAge = bucket, duration(age)
	return &o, in, t.nameRule(&o, rules)
}
