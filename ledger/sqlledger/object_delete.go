package sqlledger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/notification"
	"github.com/lethe-storage/lethe/receipt"
)

var (
	// Objects that have ended by idleness are locked as well, for unkeepKeys.
	findVisible = underKeys(`o.key, o.id, o.content_id, o.size, o.etag, o.modified_at, o.reads_left, CASE WHEN `+visibleAt(`o.`, `?3`)+` THEN 1 ELSE 0 END`,
		`(`+visibleAt(`o.`, `?3`)+` OR o.idle_for <> 0 AND o.idle_at <= ?3)`, sqldb.Exclusive)
	visibleKeys = underKeys(`o.key`, visibleAt(`o.`, `?3`), ``)
	deleteKeys  = changeUnderKeys(`DELETE FROM objects`, ``)
	// A note that arrives later must not bring back what a client was told is deleted.
	unkeepKeys = changeUnderKeys(`UPDATE objects SET idle_for = 0`, ` AND idle_for <> 0 AND idle_at <= ?3`)
	unkeepAll  = register(`UPDATE objects SET idle_for = 0 WHERE bucket_id = ?1 AND idle_for <> 0 AND idle_at <= ?2`)
	toTrash    = `INSERT INTO trash (id, bucket, key, object_id, content_id, size, etag, modified_at,
			ttl_at, rule_at, attrs, tags, deleted_at, purge_at, reason, gone_op, gone_by, idle_for)
		SELECT t.id, ?3, o.key, o.id, o.content_id, o.size, o.etag, o.modified_at,
			o.ttl_at, o.rule_at, o.attrs, o.tags, ?4, ` + firstEnd(firstEnd(`?5`, `o.ttl_at`), `o.idle_at`) + `, ?6, ?7, ?8, o.idle_for
		FROM ` + sqldb.Rows(1, "id text", "key text")
	binKeys = registerBoth(toTrash+` CROSS JOIN objects o WHERE o.bucket_id = ?2 AND o.key = t.key`,
		toTrash+` CROSS JOIN LATERAL (SELECT * FROM objects o WHERE o.bucket_id = ?2 AND o.key = t.key OFFSET 0) AS o`)
	supersedeKeys = forgetOf(`bucket_id = ?2 AND key IN (SELECT id FROM ` + sqldb.IDs(1) + `)`)
)

// rowUnderKey is how PostgreSQL looks up the row under each key, in the order of the keys. From
// a join or an array of keys it may conclude, while the table is small or its statistics are old,
// that all objects of the bucket are read faster.
func rowUnderKey(columns, and string) string {
	return sqldb.IDs(1) + ` CROSS JOIN LATERAL (SELECT ` + columns + ` FROM objects o WHERE o.bucket_id = ?2 AND o.key = t.id` + and + `) AS o`
}

// underKeys selects the objects of a bucket under several keys. CROSS JOIN makes SQLite read the
// parameter first, and then look each key up.
func underKeys(columns, and, lock string) byEngine {
	return registerBoth(`SELECT `+columns+` FROM `+sqldb.IDs(1)+` CROSS JOIN objects o WHERE o.bucket_id = ?2 AND o.key = t.id AND `+and,
		`SELECT `+columns+` FROM `+rowUnderKey(`*`, ` AND `+and+` OFFSET 0 `+lock))
}

// changeUnderKeys changes objects under several keys, which findVisible has locked: their
// places (ctid) stay.
func changeUnderKeys(change, and string) byEngine {
	return registerBoth(change+` WHERE bucket_id = ?2 AND key IN (SELECT id FROM `+sqldb.IDs(1)+`)`+and,
		change+` WHERE ctid = ANY (ARRAY(SELECT o.ctid FROM `+rowUnderKey(`o.ctid`, ` OFFSET 0`)+`))`+and)
}

// forgetOf removes the promotions of several keys. PostgreSQL locks them in an order in which
// it also finds those of one key: rows of equal keys follow each other by their place.
func forgetOf(keys string) byEngine {
	return registerBoth(`DELETE FROM promotions WHERE `+keys, `DELETE FROM promotions
		WHERE blob_id IN (SELECT blob_id FROM promotions WHERE `+keys+` `+sqldb.ExclusiveBy("bucket_id, key, ctid")+`)`)
}

// Delete deletes objects of one bucket: ErrNoSuchBucket. The item of a key reports an
// invalid key, a failed precondition, or ErrHeld.
func (db *DB) Delete(ctx context.Context, d ledger.Deletion) (out ledger.Deletions, err error) {
	if err := d.Check(); err != nil {
		return out, err
	}
	var lost []string
	err = db.writeAsking(ctx, "delete from "+d.Bucket, func(t *tx) error {
		out, lost, err = t.delete(d, lost)
		return err
	})
	return out, err
}

// delete also returns the keys that other transactions replaced meanwhile. The next try
// locks them from the start; to lock every key then would be too many locks.
func (t *tx) delete(d ledger.Deletion, lost []string) (ledger.Deletions, []string, error) {
	p := deleting{t: t, out: ledger.Deletions{Items: make([]ledger.Deleted, len(d.Items))}, lost: lost}
	err := p.run(d)
	return p.out, p.lost, err
}

func (p *deleting) run(d ledger.Deletion) (err error) {
	if p.bucket, err = p.t.bucket(d.Bucket); err != nil {
		return err
	}
	if err := ledger.CheckBucketID(d.Bucket, p.bucket.ID, d.Into); err != nil {
		return err
	}
	if err := p.t.lockKeys(d.Bucket, p.lost); err != nil {
		return err
	}
	if err := p.t.recordOnce(d.Op, "delete", ""); err != nil {
		return err
	}
	if err := p.choose(d.Items); err != nil {
		return err
	}
	return p.apply()
}

// deleting is a deletion in progress.
type deleting struct {
	t      *tx
	bucket ledger.Bucket
	out    ledger.Deletions
	take   []ledger.Object // rows to delete
	clear  []string        // keys to remove, present or not
	lost   []string        // keys that others replaced while this transaction waited
}

// choose reads the rows under the keys and decides which ones go.
func (p *deleting) choose(items []ledger.DeleteItem) error {
	lies, err := p.find(items)
	if err != nil {
		return err
	}
	held, err := p.held(lies)
	if err != nil {
		return err
	}
	for i, item := range items {
		answer := &p.out.Items[i]
		answer.Key = item.Key
		if answer.Err = ledger.CheckKey(item.Key); answer.Err != nil {
			continue
		}
		o := lies[item.Key]
		if answer.Err = item.If.Holds(o); answer.Err != nil {
			continue
		}
		if h, found := held[item.Key]; found && o != nil {
			answer.Err = h.Refusal(item.Key)
			continue
		}
		p.clear = append(p.clear, item.Key)
		if o != nil {
			answer.Existed, answer.ID = true, o.ID
			p.take = append(p.take, *o)
			delete(lies, item.Key)
		}
	}
	return nil
}

// held returns which of the keys are held.
func (p *deleting) held(lies map[string]*ledger.Object) (map[string]ledger.Hold, error) {
	if p.bucket.Holds == 0 {
		return nil, nil
	}
	list := make([]dueRow, 0, len(lies))
	for key := range lies {
		list = append(list, dueRow{Bucket: p.bucket.ID, Key: key})
	}
	bySpot, err := p.t.heldBy(list)
	held := make(map[string]ledger.Hold, len(bySpot))
	for at, h := range bySpot {
		held[at.key] = h
	}
	return held, err
}

// find returns the visible objects under the keys. Expired ones are left to Expire.
func (p *deleting) find(items []ledger.DeleteItem) (map[string]*ledger.Object, error) {
	keys := make([]string, 0, len(items))
	for _, item := range items {
		if ledger.CheckKey(item.Key) == nil {
			keys = append(keys, item.Key)
		}
	}
	slices.Sort(keys) // the order in which they are locked
	lies := make(map[string]*ledger.Object, len(keys))
	_, err := all(p.t, func(r *sql.Rows) (none struct{}, err error) {
		var o ledger.Object
		var content sql.NullString
		var visible bool
		err = r.Scan(&o.Key, &o.ID, &content, &o.Size, &o.ETag, &o.ModifiedAt, &o.ReadsLeft, &visible)
		if o.ContentID = lethe.ID(content.String); visible {
			lies[o.Key] = &o
		}
		return none, err
	}, findVisible.of(p.t), sqldb.JSON(keys), p.bucket.ID, p.t.Now)
	if err != nil || !p.t.concurrentWriters() {
		return lies, err
	}
	// A row that was replaced during the wait has a new version under its key.
	missing := slices.DeleteFunc(keys, func(k string) bool { return lies[k] != nil })
	if len(missing) == 0 {
		return lies, nil
	}
	anew, err := all(p.t, sqldb.One[string], visibleKeys.of(p.t), sqldb.JSON(missing), p.bucket.ID, p.t.Now)
	if err != nil || len(anew) > 0 {
		p.lost = append(p.lost, anew...)
		return nil, cmp.Or(err, sqldb.ErrAgain)
	}
	return lies, nil
}

// apply deletes the chosen rows, in a fixed number of statements.
func (p *deleting) apply() error {
	if len(p.clear) > len(p.take) {
		if _, err := p.t.Send(unkeepKeys.of(p.t), sqldb.JSON(p.clear), p.bucket.ID, p.t.Now); err != nil {
			return err
		}
	}
	if len(p.clear) > 0 {
		if _, err := p.t.Send(supersedeKeys.of(p.t), sqldb.JSON(p.clear), p.bucket.ID); err != nil {
			return err
		}
	}
	if len(p.take) == 0 {
		return nil
	}
	lost := refs{}
	if p.bucket.Undo > 0 {
		if err := p.bin(); err != nil {
			return err
		}
	}
	keys := make([]string, len(p.take))
	for i, o := range p.take {
		keys[i] = o.Key
		p.t.counts.bucket(p.bucket.ID, -1, -o.Size)
		if p.bucket.Undo == 0 || o.Counted() {
			lost.lose(o.ContentID, end{p.t.Now, lethe.ReasonDelete, p.bucket.ID})
			o.BucketID = p.bucket.ID
			p.t.gone(p.bucket.Name, o, receipt.Receipt{Reason: lethe.ReasonDelete})
		}
		if err := p.t.happened(p.bucket, notification.Deleted, o, lethe.ReasonDelete); err != nil {
			return err
		}
	}
	changed := fmt.Errorf("objects changed while they were deleted: %w", lethe.ErrUnavailable)
	if err := p.t.Must(int64(len(keys)), changed, deleteKeys.of(p.t), sqldb.JSON(keys), p.bucket.ID); err != nil {
		return err
	}
	d, err := p.t.settleRefs(lost)
	p.out.Dropped = d.contents
	return err
}

// bin copies the rows to the trash, which takes over their references, as tx.bin does with
// one row. Rows whose reads are counted have no undo window.
func (p *deleting) bin() error {
	type row struct {
		ID  lethe.ID `json:"id"`
		Key string   `json:"key"`
	}
	list := make([]row, 0, len(p.take))
	for _, o := range p.take {
		if !o.Counted() {
			list = append(list, row{lethe.NewID(p.t.Now, p.t.Random), o.Key})
		}
	}
	_, err := p.t.Send(binKeys.of(p.t), sqldb.JSON(list), p.bucket.ID, p.bucket.Name, p.t.Now, p.t.Now.Add(p.bucket.Undo), lethe.ReasonDelete,
		p.t.op, encodeCaller(p.t.By))
	return err
}
