package sqlledger

import (
	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/notification"
	"github.com/lethe-storage/lethe/receipt"
)

var (
	takeObject   = register(`DELETE FROM objects WHERE bucket_id = ?1 AND key = ?2 RETURNING ` + objectColumns)
	insertObject = register(`INSERT INTO objects (` + objectColumns + `, due_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)`)
	insertTrash = register(`INSERT INTO trash (id, bucket, key, object_id, content_id, size, etag, modified_at,
			ttl_at, rule_at, attrs, tags, deleted_at, purge_at, reason, gone_op, gone_by, idle_for)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)`)
	supersedeKey   = register(`DELETE FROM promotions WHERE bucket_id = ?1 AND key = ?2`)
	takePromotions = register(`DELETE FROM promotions WHERE bucket_id = ?1 AND key = ?2 RETURNING blob_id`)
)

// insertObject inserts an object row under a free key. The caller counts its reference.
func (t *tx) insertObject(o *ledger.Object) error {
	if len(o.Tags) == 0 {
		o.Tags = nil
	}
	_, err := t.Send(insertObject, o.BucketID, o.Key, o.ID, null(o.ContentID), o.Size, o.ETag, o.ModifiedAt,
		o.TTLAt, o.RuleAt, sqldb.JSON(o.Attrs), encodeTags(o.Tags), o.RuleNumber, o.ReadsLeft,
		micros(o.IdleFor), o.IdleAt, nullTime(o.UsedAt), nullTime(o.DueAt()))
	t.counts.bucket(o.BucketID, 1, o.Size)
	return err
}

// discard handles a row that a client deleted or replaced. It goes to the trash, which keeps
// the reference, if the bucket has an undo window and its reads are not counted; else its
// reference goes. An object whose end has come was not the client's any more and goes for
// good.
func (t *tx) discard(b ledger.Bucket, o ledger.Object, reason lethe.Reason, r refs) error {
	t.counts.bucket(b.ID, -1, -o.Size)
	switch {
	case !o.VisibleAt(t.Now):
		r.lose(o.ContentID, end{o.End(), o.EndReason(t.Now), b.ID})
		t.gone(b.Name, o, receipt.Receipt{Reason: o.EndReason(t.Now), Due: receipt.Instant(o.End())})
		return t.happened(b, notification.Expired, o, o.EndReason(t.Now))
	case b.Undo > 0 && !o.Counted():
		return t.bin(b, o, reason)
	default:
		r.lose(o.ContentID, end{t.Now, reason, b.ID})
		t.gone(b.Name, o, receipt.Receipt{Reason: reason})
	}
	return nil
}

// bin puts an object that was removed from its key into the trash, for the undo window but
// no longer than it would have lived by itself: deleting an object must not keep its bytes longer.
// Lifecycle rules do not apply in the trash.
func (t *tx) bin(b ledger.Bucket, o ledger.Object, reason lethe.Reason) error {
	id, purge := lethe.NewID(t.Now, t.Random), o.KeptUntil(t.Now.Add(b.Undo))
	_, err := t.Send(insertTrash, id, b.Name, o.Key, o.ID, null(o.ContentID), o.Size, o.ETag, o.ModifiedAt,
		o.TTLAt, o.RuleAt, sqldb.JSON(o.Attrs), encodeTags(o.Tags), t.Now, purge, reason, t.op, encodeCaller(t.By), micros(o.IdleFor))
	return err
}

// supersede removes the promotions of a key that is written or removed (docs/protocol.md,
// rule 19).
func (t *tx) supersede(bucket lethe.ID, key string) error {
	_, err := t.Send(supersedeKey, bucket, key)
	return err
}
