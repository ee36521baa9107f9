package sqlledger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

// bodyNumber is the number of an object's inline bytes; 0 or NULL: there are none.
const bodyNumber = `(SELECT c.body_no FROM contents c WHERE c.id = objects.content_id)`

var (
	dueObjects = register(`SELECT bucket_id, key, due_at, content_id, rule_no, ttl_at, idle_at, ` + bodyNumber + ` FROM objects
		WHERE due_at IS NOT NULL AND due_at BETWEEN ?1 AND ?2
		ORDER BY due_at LIMIT ?3 ` + sqldb.Locked)
	contentWeights = register(`SELECT c.id, c.refs, CASE WHEN c.body_no <> 0 THEN 0 ELSE
			(SELECT count(*) FROM blobs b WHERE b.content_id = c.id AND b.state IN (1, 2)) END
		FROM ` + sqldb.Rows(1, "id text", "n bigint") + ` CROSS JOIN contents c WHERE c.id = t.id AND c.refs <= t.n`)
	// Due times are added to 0 where rows are named: the index of due times would join each
	// named row with each due one. By old statistics PostgreSQL may take none to be due.
	deleteDue = register(`DELETE FROM objects
		WHERE (bucket_id, key) IN (SELECT bucket_id, key FROM ` + sqldb.Rows(1, "bucket_id text", "key text") + `)
			AND due_at IS NOT NULL AND due_at + 0 <= ?2
		RETURNING bucket_id, content_id, size, due_at, rule_no, key, id, etag, ttl_at, idle_at, reads_left`)
	anyPromotion   = register(`SELECT 1 FROM promotions LIMIT 1`)
	supersededRows = forgetOf(`(bucket_id, key) IN (SELECT bucket_id, key FROM ` + sqldb.Rows(1, "bucket_id text", "key text") + `)`)
	expireLater    = register(countLater(`due_at`, `objects WHERE due_at IS NOT NULL AND due_at > ?1`))
)

// Expire removes up to a batch of due objects, oldest first or by fair scheduling over some
// buckets. It is one transaction that reads only a due index and the rows that go. Blobs
// that lost their last reference died when the object was due. An object due only by a
// lifecycle rule goes if that rule is in force in this transaction; otherwise the rules are
// reapplied to it. What is held, or beyond the limits, is deferred.
func (db *DB) Expire(ctx context.Context, b ledger.Batch) (out ledger.Reclaimed, err error) {
	err = db.batch(ctx, "expire", func(t *tx) error {
		out = ledger.Reclaimed{LastDue: b.After}
		found, err := t.dueNow(b)
		if err != nil || len(found) == 0 {
			return err
		}
		s, err := t.sift(found)
		if err != nil {
			return err
		}
		taken, err := t.weigh(s.kept, b)
		if err != nil {
			return err
		}
		out.Reapplied = s.stale
		out.More = s.again || len(taken) < len(s.kept) || b.Only == nil && b.Limit > 0 && len(found) > b.Limit
		if !s.again && len(b.Turns) == 0 {
			out.LastDue = lastDue(found, taken, s)
		}
		out.Deferred = s.held
		going, err := t.within(taken, b.Limits, &out)
		if err != nil {
			return err
		}
		out.Taken = namedOf(b, going)
		return t.expire(going, s.rules, &out)
	})
	return out, err
}

// dueNow returns the objects that a batch may take, and one more.
func (t *tx) dueNow(b ledger.Batch) ([]dueRow, error) {
	if b.Only != nil {
		return all(t, t.scanDueNamed, dueNamed, sqldb.JSON(b.Only), t.Now)
	}
	if len(b.Turns) > 0 {
		return t.objectsByTurns(b)
	}
	return all(t, t.scanDueObject, dueObjects, b.After, t.Now, oneMore(b.Limit))
}

// lastDue returns the due time where the next batch begins: that of the last row taken, or,
// if all were taken, of the last row found.
func lastDue(found, taken []dueRow, s sifted) lethe.Time {
	if len(taken) < len(s.kept) {
		return taken[len(taken)-1].Due
	}
	return found[len(found)-1].Due
}

// expire deletes the rows and counts their references down.
func (t *tx) expire(due []dueRow, rules map[lethe.ID]namedRules, out *ledger.Reclaimed) error {
	if len(due) == 0 {
		return nil
	}
	gone, err := t.removeLocked(deleteDue, due, t.Now)
	if err != nil {
		return err
	}
	for i, g := range gone {
		if r := rules[g.bucket].rules.InForce(g.rule); r != nil {
			gone[i].reason = lethe.ReasonLifecycle
			gone[i].ruleID = r.ID
			out.CountRule(rules[g.bucket].name, r.ID, g.size)
		} else {
			out.CountItself(g.reason, g.size)
		}
	}
	out.SortRules()
	return t.reclaimGone(gone, rules, lethe.ReasonExpiry, out)
}

// removeLocked deletes locked objects, all of them, by a statement that takes them if they were
// due, or used, before an instant.
func (t *tx) removeLocked(statement string, objects []dueRow, before lethe.Time) ([]loss, error) {
	keys := sqldb.JSON(objects)
	gone, err := all(t, t.scanLoss, statement, keys, before)
	if err != nil {
		return nil, err
	}
	if len(gone) != len(objects) {
		return nil, fmt.Errorf("%d objects of %d that were to be removed are gone: %w", len(objects)-len(gone), len(objects), lethe.ErrFenced)
	}
	for _, g := range gone {
		t.counts.bucket(g.bucket, -1, -g.size)
	}
	return gone, t.supersedeAll(keys)
}

// reclaimGone tells of objects that ended, and counts their references down.
func (t *tx) reclaimGone(gone []loss, rules map[lethe.ID]namedRules, by lethe.Reason, out *ledger.Reclaimed) error {
	t.goneByAge(gone, rules)
	if err := t.expired(gone, rules); err != nil {
		return err
	}
	return t.reclaim(gone, by, out)
}

// supersedeAll removes the promotions of keys whose objects were removed (docs/protocol.md,
// rule 19). There are rarely any.
func (t *tx) supersedeAll(keys string) error {
	found, err := t.exists(anyPromotion)
	if err == nil && found {
		_, err = t.Send(supersededRows.of(t), keys)
	}
	return err
}

// loss is a deleted row that may have referred to a content.
type loss struct {
	bucket, content lethe.ID
	size            int64
	died            lethe.Time
	rule            int64        // the rule that ended it, 0 if none
	reason          lethe.Reason // empty: the batch's; of an object why it has ended by itself
	ruleID          string
	key, etag       string
	version         lethe.ID
}

// scanLoss scans a removed object: with the rule that ended it, or why it has ended by itself.
func (t *tx) scanLoss(r *sql.Rows) (l loss, err error) {
	var content sql.NullString
	var s ledger.Object
	err = r.Scan(&l.bucket, &content, &l.size, &l.died, &l.rule, &l.key, &l.version, &l.etag, &s.TTLAt, &s.IdleAt, &s.ReadsLeft)
	if l.content = lethe.ID(content.String); s.EndsItself(t.Now) {
		l.rule, l.reason = 0, s.EndReason(t.Now)
	}
	return l, err
}

// reclaim counts references down by the rows really deleted (docs/protocol.md, rule 3) and
// records what went with them.
func (t *tx) reclaim(gone []loss, reason lethe.Reason, out *ledger.Reclaimed) error {
	lost := refs{}
	for _, g := range gone {
		lost.lose(g.content, end{g.died, cmp.Or(g.reason, reason), g.bucket})
		out.Bytes += g.size
	}
	d, err := t.settleRefs(lost)
	out.Objects = len(gone)
	out.Blobs, out.BlobBytes, out.Dropped = d.blobs, d.bytes, d.contents
	out.Inline, out.InlineBytes = d.freed.contents, d.freed.bytes
	return err
}

// dueRow is a due row: an object by bucket and key, or a trash entry by key only.
type dueRow struct {
	Bucket  lethe.ID   `json:"bucket_id"`
	Key     string     `json:"key"`
	Due     lethe.Time `json:"-"`
	content lethe.ID
	inline  bool     // its content is known to lie in the ledger
	rule    int64    // if only a rule ends it: it has not ended by itself
	version lethe.ID // of an object in Batch.Only
}

// byRule reports whether only a rule ends the row.
func (d dueRow) byRule() bool { return d.rule != 0 }

// scanDueObject scans a due row, and the rule if only a rule ends it.
func (t *tx) scanDueObject(r *sql.Rows) (d dueRow, err error) {
	var content sql.NullString
	var body sql.NullInt64
	var o ledger.Object
	err = r.Scan(&d.Bucket, &d.Key, &d.Due, &content, &d.rule, &o.TTLAt, &o.IdleAt, &body)
	d.inline = body.Int64 != 0
	return d.ending(t.Now, content, o), err
}

func (d dueRow) ending(now lethe.Time, content sql.NullString, o ledger.Object) dueRow {
	if d.content = lethe.ID(content.String); o.EndsItself(now) {
		d.rule = 0
	}
	return d
}

// oneMore returns the limit plus one, so that the read shows whether there are more rows.
func oneMore(limit int) int64 {
	if limit <= 0 {
		return bounded(limit)
	}
	return int64(limit) + 1
}

// weigh cuts rows to the batch: to its limit, and to the blobs that would be condemned with
// them. It keeps at least one row.
func (t *tx) weigh(found []dueRow, b ledger.Batch) ([]dueRow, error) {
	if b.Limit > 0 && len(found) > b.Limit {
		found = found[:b.Limit]
	}
	if b.MaxBlobs <= 0 {
		return found, nil
	}
	weights, err := t.weights(found)
	if err != nil {
		return nil, err
	}
	blobs := 0
	for i, d := range found {
		w := weights[d.content]
		if w == nil {
			continue
		}
		if w.refs--; w.refs > 0 || w.blobs == 0 { // inline bytes are no blob
			continue
		}
		if blobs += w.blobs; blobs > b.MaxBlobs && i > 0 {
			return found[:i], nil
		}
	}
	return found, nil
}

// weight is what the loss of a content's last reference condemns.
type weight struct{ refs, blobs int }

// weights returns the contents that would lose their last reference.
func (t *tx) weights(found []dueRow) (map[lethe.ID]*weight, error) {
	lost := refs{}
	for _, d := range found {
		if !d.inline {
			lost.lose(d.content, end{})
		}
	}
	if len(lost) == 0 {
		return nil, nil
	}
	list := make([]lossRow, 0, len(lost))
	for id, c := range lost {
		list = append(list, lossRow{ID: id, N: -c.net})
	}
	weights := make(map[lethe.ID]*weight, len(list))
	_, err := all(t, func(r *sql.Rows) (none struct{}, err error) {
		var id lethe.ID
		w := &weight{}
		err = r.Scan(&id, &w.refs, &w.blobs)
		weights[id] = w
		return none, err
	}, contentWeights, sqldb.JSON(list))
	return weights, err
}

// ExpireBacklog counts objects that have an end, due and later. Held ones that no pass has deferred
// yet count as held. Objects that only a rule ends which is not in force do not count.
func (db *DB) ExpireBacklog(ctx context.Context) (b ledger.Backlog, err error) {
	err = db.read(ctx, "expire backlog", func(t *tx) error {
		b, err = t.queued(expireQueue, bounded(0))
		return err
	})
	return b, err
}
