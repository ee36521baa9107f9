package sqlledger

import (
	"cmp"
	"context"
	"database/sql"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

const (
	// lastUsed is the key of the object of a bucket (?1) that was used last.
	lastUsed = `(SELECT key FROM objects WHERE bucket_id = ?1 AND used_at IS NOT NULL ORDER BY used_at DESC, key DESC LIMIT 1)`
	// allPlaced is false while others of the bucket (?1) may belong before those that have a place.
	allPlaced = `NOT EXISTS (SELECT 1 FROM reapplications WHERE bucket_id = ?1 AND orders <> 0)`
)

var (
	evictingBuckets = register(`SELECT ` + bucketColumns + bucketTotals + ` FROM buckets
		WHERE evict <> '' AND name IS NOT NULL AND id > ?1 ORDER BY id LIMIT ?2`)
	oldestUsed = register(`SELECT bucket_id, key, used_at, content_id, id, size FROM objects
		WHERE bucket_id = ?1 AND used_at IS NOT NULL AND used_at < ?2 AND ` + allPlaced + ` AND key <> coalesce(CASE WHEN ?8 THEN ` + lastUsed + ` END, '')
			AND key NOT IN (?4, ?5) AND (used_at, key) > (?6, ?7) ORDER BY used_at, key LIMIT ?3`)
	// coalesce keeps named rows from being joined with all of objects_used, which statistics from
	// before the bucket evicted take to be empty.
	usedNamed = register(`SELECT o.bucket_id, o.key, o.used_at, o.content_id, o.id, o.size
		FROM ` + sqldb.Rows(3, "bucket_id text", "key text", "id text") + ` CROSS JOIN objects o
		WHERE o.bucket_id = t.bucket_id AND o.key = t.key AND o.id = t.id AND o.bucket_id = ?1 AND coalesce(o.used_at, ?2) < ?2
			AND o.key <> ` + lastUsed + ` ORDER BY o.used_at, o.key`)
	lockUsed = register(`SELECT o.bucket_id, o.key, o.used_at, o.content_id, o.id, o.size
		FROM ` + sqldb.Rows(1, "bucket_id text", "key text", "id text", "used_at bigint") + ` CROSS JOIN objects o
		WHERE o.bucket_id = t.bucket_id AND o.key = t.key AND o.id = t.id AND coalesce(o.used_at, 0) = t.used_at
		ORDER BY o.used_at, o.key ` + sqldb.Locked)
	pageUsed = register(`SELECT o.bucket_id, o.key, o.id, b.name, '', o.size, o.used_at, 0, o.ttl_at, o.idle_at, o.reads_left, ` + dueContent + `
		FROM objects o JOIN buckets b ON b.id = o.bucket_id LEFT JOIN contents c ON c.id = o.content_id
		WHERE o.bucket_id = ?1 AND o.used_at IS NOT NULL AND o.used_at < ?2 AND (o.used_at, o.key) > (?3, ?4)
			AND o.key <> ` + lastUsed + ` AND ` + allPlaced + `
		ORDER BY o.used_at, o.key LIMIT ?5`)
	keptUpTo = register(`SELECT coalesce((SELECT kept_at FROM evictions WHERE bucket_id = ?1), 0), coalesce((SELECT kept_key FROM evictions WHERE bucket_id = ?1), ''),
		(SELECT count(*) FROM reapplications WHERE bucket_id = ?1)`)
	keepUpTo = register(`INSERT INTO evictions (bucket_id, kept_at, kept_key) VALUES (?1, ?2, ?3)
		ON CONFLICT (bucket_id) DO UPDATE SET kept_at = excluded.kept_at, kept_key = excluded.kept_key`)
	unpairedLedger = register(`SELECT 1 FROM backends WHERE held_kind = ?1 LIMIT 1`)
	keepAnew       = register(`DELETE FROM evictions WHERE bucket_id = ?1`)
	deleteUsed     = register(`DELETE FROM objects
		WHERE (bucket_id, key) IN (SELECT bucket_id, key FROM ` + sqldb.Rows(1, "bucket_id text", "key text") + `)
			AND coalesce(used_at, ?2) < ?2
		RETURNING bucket_id, content_id, size, used_at, 0, key, id, etag, ttl_at, idle_at, reads_left`)
	orderObjects = register(`UPDATE objects SET used_at = modified_at
		WHERE bucket_id = ?1 AND key > ?2 AND key <= ?3 AND (used_at IS NULL OR idle_for = 0 AND ?4 AND used_at <> modified_at)`)
)

// Evict ends up to a batch of a bucket's objects, the one used longest ago first, until the room
// that was asked for is there and the low mark is reached. Errors: ErrNoSuchBucket, ErrUnpaired,
// and ErrClock while the clock that decides what is old enough is in doubt. Evict does nothing if
// there is room already, if the bucket does not evict or is being put in order, or if the objects
// that may go would not make the room, as far as the first batch looks ahead. Without a write that
// needs room, the object used last stays. Later evictions skip the held objects that it has met,
// until a hold is released. An evicted object does not go to the trash, where it would free nothing.
//
// Evictions of one bucket wait for each other. Objects that other transactions write, delete or
// note meanwhile are left to the next batch, and no younger ones go in their place. So no more go
// than if all had run one after the other.
func (db *DB) Evict(ctx context.Context, r ledger.EvictRequest) (out ledger.Evicted, err error) {
	err = db.batchFor(ctx, r.Room != (ledger.Room{}), "evict from "+r.Bucket, func(t *tx) error {
		out = ledger.Evicted{Next: r.After}
		b, err := t.evictsAlone(r.Bucket)
		if err != nil {
			return err
		}
		e := eviction{tx: t, EvictRequest: r, bucket: b, out: &out, before: b.Evict.Before(t.Now), ahead: r.Room != (ledger.Room{}) && r.After == (ledger.UseMark{})}
		if err := e.passOver(); err != nil {
			return err
		}
		found, err := e.candidates()
		if err != nil {
			return err
		}
		// After the objects: what went in between counts, and is not made up for.
		if err := t.Row(bucketSums, b.ID).Scan(&e.bucket.Objects, &e.bucket.Bytes, new(int64)); err != nil {
			return t.Failed(err)
		}
		excess := e.bucket.Excess(r)
		if excess == (ledger.Room{}) {
			out.Room = e.bucket.CheckQuota(r.Room.Objects, r.Room.Bytes) == nil
			return nil
		}
		if err := t.mayEvict(b); err != nil {
			return err
		}
		out.KeptBefore = e.kept.Compare(r.After) > 0
		return e.run(found, excess)
	})
	return out, err
}

// mayEvict returns ErrUnpaired while the ledger may not be the one that the backends belong
// to, and ErrClock while the clock is in doubt and decides.
func (t *tx) mayEvict(b ledger.Bucket) error {
	if unpaired, err := t.exists(unpairedLedger, ledger.HeldForLedger); err != nil || unpaired {
		return cmp.Or(err, ledger.ErrUnpaired)
	}
	if b.Evict.MinAge > 0 {
		return t.trustClock()
	}
	return nil
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
	ledger.EvictRequest
	bucket ledger.Bucket
	before lethe.Time
	ahead  bool           // the first batch of a write decides whether there can be room
	kept   ledger.UseMark // up to here a hold keeps everything
	moves  bool           // kept may move on
	out    *ledger.Evicted
}

// usedRow is an object in the order of eviction.
type usedRow struct {
	dueRow
	Used    lethe.Time `json:"used_at"`
	Version lethe.ID   `json:"id"`
	size    int64
}

func (u usedRow) mark() ledger.UseMark { return ledger.UseMark{Used: u.Used, Key: u.Key} }

func scanUsed(r *sql.Rows) (u usedRow, err error) {
	var content sql.NullString
	err = r.Scan(&u.Bucket, &u.Key, &u.Used, &content, &u.Version, &u.size)
	u.content, u.Due, u.version = lethe.ID(content.String), u.Used, u.Version
	return u, err
}

// passOver begins behind what a hold was found to keep. While a bucket's objects are put in order
// that is not moved on: one may come to lie before it.
func (e *eviction) passOver() error {
	if e.bucket.Holds == 0 || e.Batch.Only != nil {
		return nil
	}
	var reapplied int
	if err := e.Row(keptUpTo, e.bucket.ID).Scan(&e.kept.Used, &e.kept.Key, &reapplied); err != nil {
		return e.Failed(err)
	}
	e.moves = reapplied == 0 && e.Room == (ledger.Room{}) && e.After.Compare(e.kept) <= 0
	if e.kept.Compare(e.After) > 0 {
		e.After = e.kept
	}
	return nil
}

// candidates returns what may go, the one used longest ago first.
func (e *eviction) candidates() ([]usedRow, error) {
	if e.Batch.Only != nil {
		return all(e.tx, scanUsed, usedNamed, e.bucket.ID, e.before, sqldb.JSON(e.Batch.Only))
	}
	return e.page(e.After, e.Batch.Limit)
}

func (e *eviction) page(after ledger.UseMark, limit int) ([]usedRow, error) {
	return all(e.tx, scanUsed, oldestUsed, e.bucket.ID, e.before, bounded(limit), e.Spare, e.SpareToo, after.Used, after.Key, e.Room == (ledger.Room{}))
}

func (e *eviction) run(found []usedRow, excess ledger.Room) error {
	if len(found) == 0 {
		return nil
	}
	free, held, err := e.sortOut(found)
	if err != nil {
		return err
	}
	going, enough := upTo(free, excess, e.bucket.MayEvict(e.EvictRequest))
	if !enough && e.ahead {
		if fits, err := e.fits(found); err != nil || !fits {
			return err
		}
	}
	rules, err := e.rulesByID([]lethe.ID{e.bucket.ID})
	if err != nil {
		return err
	}
	unused, err := e.unused(going)
	if err != nil {
		return err
	}
	taken, err := e.weigh(unused, e.Batch)
	if err != nil {
		return err
	}
	may, err := e.spendOn(taken)
	if err != nil {
		return err
	}
	e.out.More = may == len(taken) && (e.Batch.Only == nil && !enough || len(taken) < len(going))
	taken = taken[:may]
	e.out.Taken, e.out.Busy = namedOf(e.Batch, taken), len(going)-len(unused)
	if len(taken) == len(going) {
		if e.out.Held, e.out.Next = len(held), found[len(found)-1].mark(); enough {
			e.out.Next = going[len(going)-1].mark()
		}
		if err := e.keep(found, held); err != nil {
			return err
		}
	}
	if err := e.end(taken, rules); err != nil {
		return err
	}
	b := e.bucket
	b.Objects, b.Bytes = b.Objects-int64(e.out.Objects), b.Bytes-e.out.Bytes
	e.out.Room = b.CheckQuota(e.Room.Objects, e.Room.Bytes) == nil
	return nil
}

// spendOn counts what the engine evicts against the limit on what ends by itself, and returns how
// many may go. A write's own evictions are bounded by what it needs, and a person decided on a plan.
func (e *eviction) spendOn(taken []dueRow) (int, error) {
	if e.Room != (ledger.Room{}) || e.Batch.Only != nil {
		return len(taken), nil
	}
	may, tripped, err := e.spend(ledger.LimitTTL, string(e.bucket.ID), e.Batch.Limits, int64(len(taken)))
	if tripped != nil {
		e.out.Tripped = append(e.out.Tripped, *tripped)
	}
	return int(may), err
}

// fits reports whether what may go would make the room for a write, as far as it looks.
func (e *eviction) fits(page []usedRow) (bool, error) {
	lacks, held := e.bucket.Lacks(e.Room), 0
	for seen := 0; len(page) > 0; {
		free, kept, err := e.sortOut(page)
		if err != nil {
			return false, err
		}
		for _, u := range free {
			lacks = lacks.Less(u.size)
		}
		held, seen = held+len(kept), seen+len(page)
		if lacks == (ledger.Room{}) || seen >= ledger.EvictAhead {
			return true, nil
		}
		if page, err = e.page(page[len(page)-1].mark(), maxPage); err != nil {
			return false, err
		}
	}
	e.out.Held = held
	return false, nil
}

// upTo returns the first objects of a list that are enough, or all if they are not, and most of
// them at most.
func upTo(list []usedRow, excess ledger.Room, most int64) (first []usedRow, enough bool) {
	for i, u := range list {
		if excess = excess.Less(u.size); excess == (ledger.Room{}) || int64(i+1) == most {
			return list[:i+1], true
		}
	}
	return list, false
}

// unused locks the objects that no other transaction has used since they were found, or is using.
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
func (e *eviction) sortOut(found []usedRow) (free, kept []usedRow, err error) {
	if e.bucket.Holds == 0 {
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

// keep has later evictions pass over the first objects that were found, as far as a hold keeps them.
func (e *eviction) keep(found, held []usedRow) error {
	n := 0
	for n < len(held) && held[n].Key == found[n].Key && held[n].Used < e.Now.Add(-ledger.KeptAge) {
		n++
	}
	if n == 0 || !e.moves {
		return nil
	}
	_, err := e.Send(keepUpTo, e.bucket.ID, held[n-1].Used, held[n-1].Key)
	return err
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

// NextEvicted pages through what Evict would take of a bucket ahead of need, in its order, with
// when it was last used in At, and what a hold keeps: ErrNoSuchBucket.
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
