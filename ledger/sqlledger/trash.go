package sqlledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
	"github.com/lethe-storage/lethe/notification"
	"github.com/lethe-storage/lethe/receipt"
)

const trashColumns = `id, bucket, key, object_id, content_id, size, etag, modified_at, ttl_at, rule_at, attrs, tags,
	deleted_at, purge_at, reason, gone_op, gone_by, ended_by, idle_for`

var (
	pageTrash = register(`SELECT ` + trashColumns + ` FROM trash
		WHERE id > ?1 AND (?2 = '' OR bucket = ?2) AND substr(key, 1, length(?3)) = ?3
		ORDER BY id LIMIT ?4`)
	trashedKey  = register(`SELECT bucket, key FROM trash WHERE id = ?1`)
	takeTrash   = register(`DELETE FROM trash WHERE id = ?1 RETURNING ` + trashColumns)
	domainOf    = register(`SELECT domain FROM contents WHERE id = ?1`)
	hastenPurge = register(`UPDATE trash SET purge_at = ?2, ended_by = ?3
		WHERE id IN (SELECT id FROM ` + sqldb.IDs(1) + `) AND purge_at > ?2`)
)

// Trash lists entries in the order in which they were deleted, including those that wait to
// be purged.
func (db *DB) Trash(ctx context.Context, q ledger.TrashQuery) (list []ledger.TrashEntry, err error) {
	err = db.read(ctx, "trash", func(t *tx) error {
		list, err = all(t, scanTrash, pageTrash, q.After, q.Bucket, q.Prefix, bounded(q.Limit))
		return err
	})
	return list, err
}

// PurgeTrash makes entries due at once; the purge routine removes them. It returns how many
// were not due before.
func (db *DB) PurgeTrash(ctx context.Context, entries []lethe.ID) (int, error) {
	var n int64
	err := db.write(ctx, "purge trash entries", func(t *tx) (err error) {
		rows := make([]deferredRow, len(entries))
		for i, id := range entries {
			rows[i].Entry = id
		}
		if err := t.lockFirst(lockedEntries, sqldb.JSON(rows)); err != nil {
			return err
		}
		n, err = t.Exec(hastenPurge, sqldb.JSON(entries), t.Now, encodeCaller(t.By))
		return err
	})
	return int(n), err
}

// Restore puts an entry back under its key, as a new version with its former times and
// attributes. ErrTrashNotFound; ErrNoSuchBucket, also if another bucket, of another dedup
// domain, has the name; ErrPreconditionFailed if the key is taken and overwrite is false;
// ErrHeld. A version that it replaces goes as in Commit.
func (db *DB) Restore(ctx context.Context, op, entry lethe.ID, overwrite bool) (o ledger.Object, err error) {
	err = db.write(ctx, "restore trash entry "+string(entry), func(t *tx) error {
		o, err = t.restore(op, entry, overwrite)
		return err
	})
	return o, err
}

func (t *tx) restore(op, entry lethe.ID, overwrite bool) (ledger.Object, error) {
	e, b, rules, err := t.unbin(entry)
	if err != nil {
		return ledger.Object{}, err
	}
	o := e.Object
	o.ID, o.BucketID = op, b.ID
	if err := t.recordOnce(op, "restore", op); err != nil {
		return o, err
	}
	t.gone(b.Name, e.Object, receipt.Receipt{Reason: receipt.ReasonRestored, Trash: e.Receipt(op)})
	old, err := t.oneObject(b, takeObject, b.ID, o.Key)
	if err == nil {
		err = t.supersede(b.ID, o.Key)
	}
	if err != nil {
		return o, err
	}
	if old.VisibleAt(t.Now) && !overwrite {
		return o, fmt.Errorf("version %s is under the key %q: %w", old.ID, o.Key, lethe.ErrPreconditionFailed)
	}
	if old != nil {
		if err := t.refuseHeld(b, o.Key); err != nil {
			return o, err
		}
	}
	if err := t.roomFor(b, o.Size, old); err != nil {
		return o, err
	}
	o.Use(b.BucketSettings, t.Now)
	o.ApplyRules(rules)
	if err := t.insertObject(&o); err != nil {
		return o, err
	}
	replaced := refs{}
	if old != nil {
		if err := t.discard(b, *old, lethe.ReasonOverwrite, replaced); err != nil {
			return o, err
		}
	}
	if err := t.happened(b, notification.Put, o, notification.ReasonRestored); err != nil {
		return o, err
	}
	_, err = t.settleRefs(replaced)
	return o, err
}

// unbin removes an entry from the trash, with its reference, and returns it with its former
// bucket. The key is locked before the entry.
func (t *tx) unbin(entry lethe.ID) (e ledger.TrashEntry, b ledger.Bucket, rules lifecycle.Rules, err error) {
	var bucket, key string
	err = t.Row(trashedKey, entry).Scan(&bucket, &key)
	if errors.Is(err, sql.ErrNoRows) {
		return e, b, nil, lethe.ErrTrashNotFound
	}
	if err != nil {
		return e, b, nil, t.Failed(err)
	}
	if b, rules, err = t.lockKey(bucket, key); err != nil {
		return e, b, nil, err
	}
	found, err := all(t, scanTrash, takeTrash, entry)
	if err != nil || len(found) == 0 {
		return e, b, nil, cmp.Or(err, lethe.ErrTrashNotFound)
	}
	e = found[0]
	if e.Object.TTLPassed(t.Now) {
		return e, b, nil, fmt.Errorf("its time to live ended at %s: %w", e.Object.TTLAt, lethe.ErrTrashNotFound)
	}
	domain := ""
	if e.Object.ContentID != "" {
		if err := t.Row(domainOf, e.Object.ContentID).Scan(&domain); err != nil {
			return e, b, nil, t.Failed(err)
		}
	}
	return e, b, rules, e.From(b, domain)
}

func scanTrash(r *sql.Rows) (ledger.TrashEntry, error) { return scanTrashRow(r) }

func scanTrashRow(r sqldb.Scanner) (e ledger.TrashEntry, err error) {
	var content sql.NullString
	var attrs, tags, by, ended string
	var idle int64
	o := &e.Object
	err = r.Scan(&e.ID, &o.Bucket, &o.Key, &o.ID, &content, &o.Size, &o.ETag, &o.ModifiedAt, &o.TTLAt, &o.RuleAt, &attrs, &tags,
		&e.DeletedAt, &e.PurgeAt, &e.Reason, &e.Op, &by, &ended, &idle)
	if err != nil {
		return e, err
	}
	o.ContentID, e.By, e.EndedBy = lethe.ID(content.String), decodeCaller(by), decodeCaller(ended)
	o.IdleFor = duration(idle)
	if o.Attrs, o.Tags, err = decodeAttrs(attrs, tags); err != nil {
		return e, fmt.Errorf("trash entry %s: %w", e.ID, err)
	}
	return e, nil
}
