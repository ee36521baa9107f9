package sqlledger

import (
	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/receipt"
)

var (
	takeObject   = register(`DELETE FROM objects WHERE bucket_id = ?1 AND key = ?2 RETURNING ` + objectColumns)
	insertObject = register(`INSERT INTO objects (` + objectColumns + `, due_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)`)
	insertTrash = register(`INSERT INTO trash (id, bucket, key, object_id, content_id, size, etag, modified_at,
			ttl_at, rule_at, attrs, tags, deleted_at, purge_at, reason, gone_op, gone_by)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)`)
	supersedeKey = register(`DELETE FROM promotions WHERE bucket_id = ?1 AND key = ?2`)
)

// insertObject puts an object row under a key that is free. Its reference is the
// caller's to count.
func (t *tx) insertObject(o *ledger.Object) error {
	if len(o.Tags) == 0 {
		o.Tags = nil
	}
	_, err := t.exec(insertObject, o.BucketID, o.Key, o.ID, null(o.ContentID), o.Size, o.ETag, o.ModifiedAt,
		o.TTLAt, o.RuleAt, sqldb.JSON(o.Attrs), encodeTags(o.Tags), o.RuleNumber, nullTime(o.DueAt()))
	t.counts.bucket(o.BucketID, 1, o.Size)
	return err
}

// discard settles a row of a bucket that was deleted because a client deleted or
// replaced the object: into the trash, which keeps the reference, if the bucket
// has an undo window; else the reference goes. An object past its time was not
// the client's any more: it goes for good, as if it had expired.
func (t *tx) discard(b ledger.Bucket, o ledger.Object, reason lethe.Reason, r refs) error {
	t.counts.bucket(b.ID, -1, -o.Size)
	switch {
	case !o.VisibleAt(t.now):
		r.lose(o.ContentID, end{o.DueAt(), lethe.ReasonExpiry, b.ID})
		t.gone(b.Name, o, receipt.Receipt{Reason: lethe.ReasonExpiry, Due: receipt.Instant(o.DueAt())})
	case b.Undo > 0:
		return t.bin(b, o, reason)
	default:
		r.lose(o.ContentID, end{t.now, reason, b.ID})
		t.gone(b.Name, o, receipt.Receipt{Reason: reason})
	}
	return nil
}

// bin puts an object that was taken from its key into the trash, for the undo
// window, but no longer than its own time to live: who deletes an object does not
// make its bytes stay. Rules are about objects; in the trash they end nothing.
func (t *tx) bin(b ledger.Bucket, o ledger.Object, reason lethe.Reason) error {
	id, purge := lethe.NewID(t.now, t.random), t.now.Add(b.Undo)
	if o.TTLAt != 0 {
		purge = min(purge, o.TTLAt)
	}
	_, err := t.exec(insertTrash, id, b.Name, o.Key, o.ID, null(o.ContentID), o.Size, o.ETag, o.ModifiedAt,
		o.TTLAt, o.RuleAt, sqldb.JSON(o.Attrs), encodeTags(o.Tags), t.now, purge, reason, t.op, encodeCaller(t.by))
	return err
}

// supersede drops the promotions of a key that is written or removed (docs/protocol.md,
// rule 19).
func (t *tx) supersede(bucket lethe.ID, key string) error {
	_, err := t.exec(supersedeKey, bucket, key)
	return err
}
