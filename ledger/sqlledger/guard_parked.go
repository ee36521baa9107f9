package sqlledger

import (
	"context"
	"database/sql"
	"errors"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

// A due row that must not go is deferred: it leaves its due index, so that it is not read
// again and again. When it is released, it returns. A row that was written again meanwhile
// is in its index already, and its deferral is void.
var (
	parkObjects = register(`UPDATE objects SET due_at = NULL
		WHERE (bucket_id, key) IN (SELECT bucket_id, key FROM ` + sqldb.Rows(1, "bucket_id text", "key text") + `)`)
	parkTrash = register(`UPDATE trash SET purge_at = ?2 WHERE id IN (SELECT entry FROM ` + sqldb.Rows(1, "entry text") + `)`)
	park      = register(`INSERT INTO parked (bucket_id, key, entry, due_at)
		SELECT bucket_id, key, entry, due_at FROM ` + sqldb.Rows(1, "bucket_id text", "key text", "entry text", "due_at bigint") + ` WHERE true
		ON CONFLICT (bucket_id, key, entry) DO UPDATE SET due_at = excluded.due_at`)
	liftPrefix = register(`INSERT INTO lifts (bucket_id, prefix, after_key, after_entry) SELECT id, ?2, '', '' FROM buckets WHERE id = ?1
		ON CONFLICT (bucket_id, prefix) DO UPDATE SET after_key = '', after_entry = ''`)
	anyLift   = register(`SELECT 1 FROM lifts LIMIT 1`)
	nextLift  = register(`SELECT bucket_id, prefix FROM lifts ORDER BY bucket_id, prefix LIMIT 1`)
	otherLift = register(`SELECT 1 FROM lifts WHERE bucket_id <> ?1 OR prefix <> ?2 LIMIT 1`)
	takeLift  = register(`SELECT after_key, after_entry FROM lifts WHERE bucket_id = ?1 AND prefix = ?2 ` + sqldb.Exclusive)
	moveLift  = register(`UPDATE lifts SET after_key = ?3, after_entry = ?4 WHERE bucket_id = ?1 AND prefix = ?2`)
	endLift   = register(`DELETE FROM lifts WHERE bucket_id = ?1 AND prefix = ?2`)
	parkedOf  = register(`SELECT key, entry, due_at FROM parked
		WHERE bucket_id = ?1 AND (key, entry) > (?2, ?3) AND key >= ?4 AND (?5 = '' OR key < ?5)
		ORDER BY key, entry LIMIT ?6`)
	unpark = register(`DELETE FROM parked
		WHERE (bucket_id, key, entry) IN (SELECT bucket_id, key, entry FROM ` + sqldb.Rows(1, "bucket_id text", "key text", "entry text") + `)`)
	unparkObjects = register(`UPDATE objects
		SET due_at = CASE WHEN ttl_at = 0 THEN rule_at WHEN rule_at = 0 OR ttl_at < rule_at THEN ttl_at ELSE rule_at END
		WHERE (bucket_id, key) IN (SELECT bucket_id, key FROM ` + sqldb.Rows(1, "bucket_id text", "key text", "entry text") + ` WHERE t.entry = '')
			AND due_at IS NULL AND (ttl_at <> 0 OR rule_at <> 0)`)
	unparkTrash = register(`UPDATE trash SET purge_at = t.due_at FROM ` + sqldb.Rows(1, "entry text", "due_at bigint") + `
		WHERE trash.id = t.entry AND trash.purge_at = ?2`)
)

// parkedRow is a due row that must not go.
type parkedRow struct {
	Bucket lethe.ID   `json:"bucket_id"`
	Key    string     `json:"key"`
	Entry  lethe.ID   `json:"entry"` // trash entry; empty: the object
	Due    lethe.Time `json:"due_at"`
}

// park takes rows out of their due index.
func (t *tx) park(list []parkedRow) error {
	if len(list) == 0 {
		return nil
	}
	rows := sqldb.JSON(list)
	if list[0].Entry == "" {
		if _, err := t.Exec(parkObjects, rows); err != nil {
			return err
		}
	} else if _, err := t.Exec(parkTrash, rows, lethe.Forever); err != nil {
		return err
	}
	_, err := t.Exec(park, rows)
	return err
}

// parkedObjects returns due objects as rows to park.
func parkedObjects(list []dueRow) []parkedRow {
	out := make([]parkedRow, len(list))
	for i, d := range list {
		out[i] = parkedRow{Bucket: d.Bucket, Key: d.Key, Due: d.Due}
	}
	return out
}

// lift requests that the deferred rows under a prefix be looked at again.
func (t *tx) lift(bucket lethe.ID, prefix string) error {
	_, err := t.Exec(liftPrefix, bucket, prefix)
	return err
}

// Unpark releases up to limit deferred rows to their due index, where a hold was lifted or a
// limit reset, unless something else keeps them. It saves its position in the same
// transaction, and changes nothing where nothing is to be released. Limits whose time has
// passed reset in a transaction before: a transaction that locks guards must not wait for a
// bucket (docs/protocol.md, rule 16).
func (db *DB) Unpark(ctx context.Context, limit int) (out ledger.Unparked, err error) {
	var passed []ledger.Guard
	idle := false
	err = db.read(ctx, "look for what is let go", func(t *tx) error {
		found, err := t.exists(anyLift)
		if err != nil {
			return err
		}
		passed, err = all(t, func(r *sql.Rows) (ledger.Guard, error) { return scanGuard(r) }, passedGuards, t.Now)
		idle = !found && len(passed) == 0
		return err
	})
	if err != nil || idle {
		return out, err
	}
	if len(passed) > 0 {
		if err := db.batch(ctx, "end what has stopped long enough", func(t *tx) error { return t.endGuards(passed) }); err != nil {
			return out, err
		}
	}
	err = db.batch(ctx, "let go what was held", func(t *tx) error {
		out = ledger.Unparked{}
		found, err := all(t, func(r *sql.Rows) (s spot, err error) {
			err = r.Scan(&s.bucket, &s.key)
			return s, err
		}, nextLift)
		if err != nil || len(found) == 0 {
			return err
		}
		return t.unpark(found[0], bounded(limit), &out)
	})
	return out, err
}

func (t *tx) unpark(l spot, limit int64, out *ledger.Unparked) error {
	buckets, err := t.rulesByID([]lethe.ID{l.bucket})
	if err != nil {
		return err
	}
	var key, entry string
	err = t.Row(takeLift, l.bucket, l.key).Scan(&key, &entry)
	if errors.Is(err, sql.ErrNoRows) {
		out.More = true // another instance has just ended it, so look again
		return nil
	}
	if err != nil {
		return t.Failed(err)
	}
	list, err := all(t, func(r *sql.Rows) (p parkedRow, err error) {
		p.Bucket = l.bucket
		err = r.Scan(&p.Key, &p.Entry, &p.Due)
		return p, err
	}, parkedOf, l.bucket, key, entry, l.key, following(l.key), limit)
	if err != nil {
		return err
	}
	out.Seen = len(list)
	if err := t.letGo(list, buckets[l.bucket].holds > 0, out); err != nil {
		return err
	}
	if int64(len(list)) == limit {
		out.More = true
		last := list[len(list)-1]
		return t.Must(1, lethe.ErrFenced, moveLift, l.bucket, l.key, last.Key, last.Entry)
	}
	if err := t.Must(1, lethe.ErrFenced, endLift, l.bucket, l.key); err != nil {
		return err
	}
	out.More, err = t.exists(otherLift, l.bucket, l.key)
	return err
}

// letGo returns the rows that nothing keeps to their index.
func (t *tx) letGo(list []parkedRow, holds bool, out *ledger.Unparked) error {
	var held map[spot]ledger.Hold
	if holds {
		rows := make([]dueRow, len(list))
		for i, p := range list {
			rows[i] = dueRow{Bucket: p.Bucket, Key: p.Key}
		}
		var err error
		if held, err = t.heldBy(rows); err != nil {
			return err
		}
	}
	var free []parkedRow
	for _, p := range list {
		if _, still := held[spot{p.Bucket, p.Key}]; !still {
			free = append(free, p)
		}
	}
	if len(free) == 0 {
		return nil
	}
	rows := sqldb.JSON(free)
	objects, err := t.Exec(unparkObjects, rows)
	if err != nil {
		return err
	}
	trash, err := t.Exec(unparkTrash, rows, lethe.Forever)
	if err != nil {
		return err
	}
	out.Returned = int(objects + trash)
	_, err = t.Exec(unpark, rows)
	return err
}
