package sqlledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
)

var (
	beginReapply = register(`INSERT INTO reapplications (bucket_id, after_key, seen, changed, started_at, orders) VALUES (?1, '', 0, 0, ?2, ?3)
		ON CONFLICT (bucket_id) DO UPDATE SET after_key = '', seen = 0, changed = 0, started_at = ?2, orders = reapplications.orders | ?3`)
	reviseRules  = register(`UPDATE store SET rules_revision = rules_revision + 1 WHERE one = 1`)
	nextReapply  = register(`SELECT bucket_id FROM reapplications ORDER BY bucket_id LIMIT 1`)
	otherReapply = register(`SELECT 1 FROM reapplications WHERE bucket_id <> ?1 LIMIT 1`)
	takeReapply  = register(`SELECT after_key FROM reapplications WHERE bucket_id = ?1 ` + sqldb.Exclusive)
	moveReapply  = register(`UPDATE reapplications SET after_key = ?2, seen = seen + ?3, changed = changed + ?4 WHERE bucket_id = ?1`)
	endReapply   = register(`DELETE FROM reapplications WHERE bucket_id = ?1`)
	objectsAfter = register(`SELECT ` + objectColumns + ` FROM objects WHERE bucket_id = ?1 AND key > ?2 ORDER BY key LIMIT ?3`)
	objectsOf    = register(`SELECT ` + qualified("o", objectColumns) + ` FROM ` + sqldb.Rows(1, "bucket_id text", "key text") + `
		CROSS JOIN objects o WHERE o.bucket_id = t.bucket_id AND o.key = t.key`)
	// An object written or tagged since it was read carries these rules already: the lock on
	// the bucket's row keeps them from changing. One of which a read was noted since does not,
	// and has another end by idleness.
	reapplyObjects = register(`UPDATE objects SET rule_at = t.rule_at, rule_no = t.rule_no,
			due_at = nullif(` + dueBy(`objects.ttl_at`, `t.rule_at`, `objects.idle_at`) + `, 0)
		FROM ` + sqldb.Rows(1, "bucket_id text", "key text", "id text", "tags text", "modified_at bigint", "ttl_at bigint",
		"rule_at bigint", "rule_no bigint") + `
		WHERE objects.bucket_id = t.bucket_id AND objects.key = t.key AND objects.id = t.id AND objects.tags = t.tags
			AND objects.modified_at = t.modified_at AND objects.ttl_at = t.ttl_at`)
	reapplyLeft = register(`SELECT b.id, (SELECT coalesce(sum(n), 0) FROM bucket_counters c WHERE c.bucket_id = b.id) - r.seen, r.started_at
		FROM reapplications r JOIN buckets b ON b.id = r.bucket_id`)
)

// beginReapply starts to reapply a bucket's rules, from its first object, and to put the objects in
// another order of eviction (orders 1; 0: it does so only if it was about to). The row of the store
// is the last that a change of rules locks.
func (t *tx) beginReapply(bucket lethe.ID, orders int64) error {
	if _, err := t.Send(beginReapply, bucket, t.Now, orders); err != nil {
		return err
	}
	if _, err := t.Send(keepAnew, bucket); err != nil {
		return err
	}
	_, err := t.Send(reviseRules)
	return err
}

// ReapplyRules reapplies the current rules to up to limit objects of one bucket. The same
// transaction saves its position, so any instance can continue. It leaves clients' times to
// live alone, and changes nothing where nothing is to be done.
func (db *DB) ReapplyRules(ctx context.Context, limit int) (out ledger.Reapplied, err error) {
	err = db.batch(ctx, "reapply", func(t *tx) error {
		out = ledger.Reapplied{}
		ids, err := all(t, sqldb.One[lethe.ID], nextReapply)
		if err != nil || len(ids) == 0 {
			return err
		}
		return t.reapplyBucket(ids[0], int64(cmp.Or(max(limit, 0), maxPage)), &out)
	})
	return out, err
}

func (t *tx) reapplyBucket(id lethe.ID, limit int64, out *ledger.Reapplied) error {
	byID, err := t.rulesByID([]lethe.ID{id})
	if err != nil {
		return err
	}
	var after string
	err = t.Row(takeReapply, id).Scan(&after)
	if errors.Is(err, sql.ErrNoRows) {
		out.More = true // another instance has just ended it, so look again
		return nil
	}
	if err != nil {
		return t.Failed(err)
	}
	b := byID[id]
	list, err := all(t, func(r *sql.Rows) (ledger.Object, error) { return scanObject(r) }, objectsAfter, id, after, limit)
	if err != nil {
		return err
	}
	out.Bucket, out.Seen, out.Done = b.name, len(list), int64(len(list)) < limit
	if b.evict != "" && len(list) > 0 {
		if err := t.lockFirst(lockedRange, id, after, list[len(list)-1].Key); err != nil {
			return err
		}
	}
	if out.Changed, err = t.reapply(list, func(lethe.ID) lifecycle.Rules { return b.rules }); err != nil {
		return err
	}
	if len(list) > 0 {
		if err := t.orderUpTo(id, b.evict, after, list[len(list)-1].Key); err != nil {
			return err
		}
	}
	if !out.Done {
		out.More = true
		return t.Must(1, lethe.ErrFenced, moveReapply, id, list[len(list)-1].Key, out.Seen, out.Changed)
	}
	if err := t.Must(1, lethe.ErrFenced, endReapply, id); err != nil {
		return err
	}
	out.More, err = t.exists(otherReapply, id)
	return err
}

// reapplyRow is an object with its new end, and the values it must still have.
type reapplyRow struct {
	Bucket   lethe.ID   `json:"bucket_id"`
	Key      string     `json:"key"`
	ID       lethe.ID   `json:"id"`
	Tags     string     `json:"tags"`
	Modified lethe.Time `json:"modified_at"`
	TTL      lethe.Time `json:"ttl_at"`
	At       lethe.Time `json:"rule_at"`
	Number   int64      `json:"rule_no"`
}

// reapply writes the ends that differ, and returns how many did.
func (t *tx) reapply(list []ledger.Object, rules func(bucket lethe.ID) lifecycle.Rules) (int, error) {
	var changed []reapplyRow
	for _, o := range list {
		if !o.Restamped(rules(o.BucketID)) {
			continue
		}
		changed = append(changed, reapplyRow{o.BucketID, o.Key, o.ID, encodeTags(o.Tags), o.ModifiedAt, o.TTLAt, o.RuleAt, o.RuleNumber})
	}
	if len(changed) == 0 {
		return 0, nil
	}
	rows := sqldb.JSON(changed)
	if err := t.lockFirst(lockedObjects, rows); err != nil {
		return 0, err
	}
	n, err := t.Exec(reapplyObjects, rows)
	return int(n), err
}

// ReapplyBacklog counts the objects that may carry older rules.
func (db *DB) ReapplyBacklog(ctx context.Context) (b ledger.Backlog, err error) {
	err = db.read(ctx, "reapply backlog", func(t *tx) error {
		b = ledger.Backlog{}
		_, err := all(t, func(r *sql.Rows) (none struct{}, err error) {
			var id lethe.ID
			var left int64
			var started lethe.Time
			err = r.Scan(&id, &left, &started)
			b.Count += max(left, 1) // a bucket counts until its last object was read
			if b.Oldest == 0 || started < b.Oldest {
				b.Oldest = started
			}
			return none, err
		}, reapplyLeft)
		return err
	})
	return b, err
}

// sifted are due rows, without held ones and those due only by a rule no longer in force.
type sifted struct {
	kept  []dueRow
	rules map[lethe.ID]namedRules // of their buckets
	stale int                     // rows to which the rules were reapplied
	held  int                     // rows deferred by a hold
	again bool                    // some of them are due nonetheless
}

// sift separates due rows from those due only by a rule no longer in force, and reapplies
// the rules to the latter: a removed rule has no effect at once (docs/protocol.md, rule 21).
// In the lock order a bucket's row comes before its objects'; here it cannot. No transaction
// that locks it exclusively waits for objects.
func (t *tx) sift(found []dueRow) (s sifted, err error) {
	var buckets []lethe.ID
	for _, d := range found {
		if !slices.Contains(buckets, d.Bucket) {
			buckets = append(buckets, d.Bucket)
		}
	}
	if s.rules, err = t.rulesByID(buckets); err != nil {
		return s, err
	}
	var stale []dueRow
	for _, d := range found {
		if d.byRule() && s.rules[d.Bucket].rules.InForce(d.rule) == nil {
			stale = append(stale, d)
		} else {
			s.kept = append(s.kept, d)
		}
	}
	if s.stale = len(stale); s.stale > 0 {
		if s.again, err = t.reapplyDue(stale, s.rules); err != nil {
			return s, err
		}
	}
	return s, t.deferHeld(&s)
}

func (t *tx) reapplyDue(stale []dueRow, rules map[lethe.ID]namedRules) (again bool, err error) {
	list, err := all(t, func(r *sql.Rows) (ledger.Object, error) { return scanObject(r) }, objectsOf, sqldb.JSON(stale))
	if err != nil {
		return false, err
	}
	of := func(bucket lethe.ID) lifecycle.Rules { return rules[bucket].rules }
	n, err := t.reapply(list, of)
	if err == nil && n != len(stale) {
		err = fmt.Errorf("%d of %d objects with stamps of rules that are gone changed: %w", n, len(stale), lethe.ErrFenced)
	}
	for _, o := range list {
		o.ApplyRules(of(o.BucketID))
		if due := o.DueAt(); due != 0 && due <= t.Now {
			again = true
		}
	}
	return again, err
}
