package sqlledger

import (
	"context"
	"database/sql"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

var (
	evictingBuckets = register(`SELECT ` + bucketColumns + bucketTotals + ` FROM buckets
		WHERE evict <> '' AND name IS NOT NULL AND id > ?1 ORDER BY id LIMIT ?2`)
	oldestUsed = register(`SELECT bucket_id, key, used_at, content_id, id, size FROM objects
		WHERE bucket_id = ?1 AND used_at IS NOT NULL AND used_at < ?2 AND key NOT IN (?4, ?5) ORDER BY used_at, key LIMIT ?3`)
	// coalesce keeps named rows from being joined with all of objects_used, which statistics from
	// before the bucket evicted take to be empty.
	usedNamed = register(`SELECT o.bucket_id, o.key, o.used_at, o.content_id, o.id, o.size
		FROM ` + sqldb.Rows(1, "bucket_id text", "key text", "id text") + ` CROSS JOIN objects o
		WHERE o.bucket_id = t.bucket_id AND o.key = t.key AND o.id = t.id AND o.bucket_id = ?3 AND coalesce(o.used_at, ?2) < ?2 ORDER BY o.used_at, o.key`)
	lockUsed = register(`SELECT o.bucket_id, o.key, o.used_at, o.content_id, o.id, o.size
		FROM ` + sqldb.Rows(1, "bucket_id text", "key text", "id text", "used_at bigint") + ` CROSS JOIN objects o
		WHERE o.bucket_id = t.bucket_id AND o.key = t.key AND o.id = t.id AND coalesce(o.used_at, 0) = t.used_at
		ORDER BY o.used_at, o.key ` + sqldb.Locked)
	pageUsed = register(`SELECT o.bucket_id, o.key, o.id, b.name, '', o.size, o.used_at, 0, o.ttl_at, o.idle_at, o.reads_left, ` + dueFate + `
		FROM objects o JOIN buckets b ON b.id = o.bucket_id LEFT JOIN contents c ON c.id = o.content_id
		WHERE o.bucket_id = ?1 AND o.used_at IS NOT NULL AND o.used_at < ?2 AND (o.used_at, o.key) > (?3, ?4)
		ORDER BY o.used_at, o.key LIMIT ?5`)
	useHeld = register(`UPDATE objects SET used_at = ?2
		WHERE (bucket_id, key) IN (SELECT bucket_id, key FROM ` + sqldb.Rows(1, "bucket_id text", "key text") + `) AND coalesce(used_at, 0) > 0`)
	deleteUsed = register(`DELETE FROM objects
		WHERE (bucket_id, key) IN (SELECT bucket_id, key FROM ` + sqldb.Rows(1, "bucket_id text", "key text") + `)
			AND coalesce(used_at, ?2) < ?2
		RETURNING bucket_id, content_id, size, used_at, 0, key, id, etag, ttl_at, idle_at, reads_left`)
	orderObjects = register(`UPDATE objects SET used_at = modified_at
		WHERE bucket_id = ?1 AND key > ?2 AND key <= ?3 AND (used_at IS NULL OR idle_for = 0 AND ?4 AND used_at <> modified_at)`)
)

// Evict ends up to a batch of a bucket's objects, the one that was used longest ago first, until
// there is the room that is asked for and the low mark is reached: ErrNoSuchBucket. It does
// nothing where there is room already, or a bucket does not evict. It reads what goes and what a
// hold keeps, which counts as used now. An evicted object passes by the trash: there it would
// free nothing.
//
// Evictions of one bucket wait for each other. What another transaction writes, deletes or notes
// meanwhile is left to the next batch, with nothing younger in its place: no more goes than in
// some order of them.
func (db *DB) Evict(ctx context.Context, r ledger.EvictRequest) (out ledger.Evicted, err error) {
	err = db.batch(ctx, "evict from "+r.Bucket, func(t *tx) error {
		out = ledger.Evicted{Now: t.Now}
		b, err := t.evictsAlone(r.Bucket)
		if err != nil {
			return err
		}
		e := eviction{tx: t, bucket: b, out: &out, before: b.Evict.Before(t.Now)}
		if r.Before != 0 {
			e.before = min(e.before, r.Before)
		}
		found, err := e.candidates(r)
		if err != nil {
			return err
		}
		// After the objects: what went in between counts, and is not made up for.
		if err := t.Row(bucketSums, b.ID).Scan(&e.bucket.Objects, &e.bucket.Bytes, new(int64)); err != nil {
			return t.Failed(err)
		}
		if excess := e.bucket.Excess(r); excess != (ledger.Room{}) {
			return e.run(r, found, excess)
		}
		out.Room = e.bucket.CheckQuota(r.Room.Objects, r.Room.Bytes) == nil
		return nil
	})
	return out, err
}

// evictsAlone returns a bucket without its totals. Its settings and holds cannot change, and no
// other transaction evicts from it, before this one ends.
func (t *tx) evictsAlone(name string) (ledger.Bucket, error) {
	b, err := t.bucket(name)
	if err == nil && t.concurrentWriters() {
		_, err = t.exists(closeGate, gateOf("evict", string(b.ID)))
	}
	return b, err
}

// eviction is one batch of Evict.
type eviction struct {
	*tx
	bucket ledger.Bucket
	before lethe.Time
	out    *ledger.Evicted
}

// usedRow is an object in the order of eviction.
type usedRow struct {
	dueRow
	Used    lethe.Time `json:"used_at"`
	Version lethe.ID   `json:"id"`
	size    int64
}

func scanUsed(r *sql.Rows) (u usedRow, err error) {
	var content sql.NullString
	err = r.Scan(&u.Bucket, &u.Key, &u.Used, &content, &u.Version, &u.size)
	u.content, u.Due, u.version = lethe.ID(content.String), u.Used, u.Version
	return u, err
}

// candidates returns what may go, the one used longest ago first.
func (e *eviction) candidates(r ledger.EvictRequest) ([]usedRow, error) {
	if r.Batch.Only != nil {
		return all(e.tx, scanUsed, usedNamed, sqldb.JSON(r.Batch.Only), e.before, e.bucket.ID)
	}
	return all(e.tx, scanUsed, oldestUsed, e.bucket.ID, e.before, bounded(r.Batch.Limit), r.Spare, r.SpareToo)
}

func (e *eviction) run(r ledger.EvictRequest, found []usedRow, excess ledger.Room) error {
	if len(found) == 0 {
		return nil
	}
	rules, err := e.rulesByID([]lethe.ID{e.bucket.ID})
	if err != nil {
		return err
	}
	free, held, err := e.sortOut(found, rules[e.bucket.ID].holds > 0)
	if err != nil {
		return err
	}
	free, enough := upTo(free, excess)
	going, err := e.unused(free)
	if err != nil {
		return err
	}
	taken, err := e.weigh(going, r.Batch)
	if err != nil {
		return err
	}
	if err := e.keep(held); err != nil {
		return err
	}
	e.out.Taken = namedOf(r.Batch, taken)
	e.out.More = r.Batch.Only == nil && !enough || len(taken) < len(free)
	if err := e.end(taken, rules); err != nil {
		return err
	}
	b := e.bucket
	b.Objects, b.Bytes = b.Objects-int64(e.out.Objects), b.Bytes-e.out.Bytes
	e.out.Room = b.CheckQuota(r.Room.Objects, r.Room.Bytes) == nil
	return nil
}

// upTo returns the first objects of a list that are enough, or all if they are not.
func upTo(list []usedRow, excess ledger.Room) (first []usedRow, enough bool) {
	for i, u := range list {
		if excess = excess.Less(u.size); excess == (ledger.Room{}) {
			return list[:i+1], true
		}
	}
	return list, false
}

// unused locks those of the objects that nobody uses meanwhile, or has used since they were found.
func (e *eviction) unused(list []usedRow) (out []dueRow, err error) {
	if e.concurrentWriters() && len(list) > 0 {
		list, err = all(e.tx, scanUsed, lockUsed, sqldb.JSON(list))
	}
	for _, u := range list {
		out = append(out, u.dueRow)
	}
	return out, err
}

// sortOut tells the objects that no hold keeps from the others.
func (e *eviction) sortOut(found []usedRow, holds bool) (free, kept []usedRow, err error) {
	if !holds {
		return found, nil, nil
	}
	asked := make([]dueRow, len(found))
	for i, u := range found {
		asked[i] = u.dueRow
	}
	held, err := e.heldBy(asked)
	for _, u := range found {
		if _, is := held[spot{u.Bucket, u.Key}]; is {
			kept = append(kept, u)
		} else {
			free = append(free, u)
		}
	}
	return free, kept, err
}

// keep counts held objects, as used now.
func (e *eviction) keep(held []usedRow) error {
	e.out.Held = len(held)
	rows, err := e.unused(held)
	if err != nil || len(rows) == 0 {
		return err
	}
	return e.Must(int64(len(rows)), lethe.ErrFenced, useHeld, sqldb.JSON(rows), e.Now)
}

// end removes the objects for good. One whose own end has come goes for that reason.
func (e *eviction) end(going []dueRow, rules map[lethe.ID]namedRules) error {
	if len(going) == 0 {
		return nil
	}
	gone, err := e.removeLocked(deleteUsed, going, e.before)
	if err != nil {
		return err
	}
	for i, g := range gone {
		gone[i].died = e.Now
		if g.reason == "" {
			gone[i].reason = lethe.ReasonEvicted
		}
		e.out.CountItself(g.reason, g.size)
	}
	return e.reclaimGone(gone, rules, lethe.ReasonEvicted, &e.out.Reclaimed)
}

// EvictingBuckets lists up to limit buckets that evict, with their totals, by id after one.
func (db *DB) EvictingBuckets(ctx context.Context, after lethe.ID, limit int) (out []ledger.Bucket, err error) {
	err = db.read(ctx, "buckets that evict", func(t *tx) error {
		out, err = all(t, func(r *sql.Rows) (b ledger.Bucket, err error) {
			err = scanBucket(r, &b, &b.Objects, &b.Bytes)
			return b, err
		}, evictingBuckets, after, bounded(limit))
		return err
	})
	return out, err
}

// NextEvicted pages through what Evict would take of a bucket, in its order, with when it was last
// used in At, and what a hold keeps: ErrNoSuchBucket.
func (db *DB) NextEvicted(ctx context.Context, q ledger.EvictQuery) (out []ledger.Due, err error) {
	err = db.read(ctx, "next to be evicted", func(t *tx) error {
		out = nil
		b, err := t.countedBucket(q.Bucket)
		if err != nil {
			return err
		}
		found, err := all(t, t.scanDue, pageUsed, b.ID, b.Evict.Before(t.Now), q.After.Due, q.After.Name, bounded(q.Limit))
		if err != nil || len(found) == 0 {
			return err
		}
		asked := make([]dueRow, len(found))
		for i, d := range found {
			asked[i] = dueRow{Bucket: d.Bucket, Key: d.Key}
		}
		held, err := t.heldBy(asked)
		for _, d := range found {
			_, d.Held = held[spot{d.Bucket, d.Key}]
			d.By = ledger.EndsByRoom
			out = append(out, d.Due)
		}
		return err
	})
	return out, err
}

// orderUpTo puts a page of keys in the order in which their bucket evicts: objects that were
// written before it did so, and, where reads do not count from now on, those that were read.
func (t *tx) orderUpTo(bucket lethe.ID, order ledger.EvictOrder, after, last string) error {
	if order == "" {
		return nil
	}
	_, err := t.Send(orderObjects, bucket, after, last, order == ledger.EvictByWrite)
	return err
}
