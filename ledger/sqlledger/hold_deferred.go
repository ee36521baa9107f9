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
// again and again. It returns once nothing keeps it. A row that was written again meanwhile
// is in its index already, and its deferral is void.
var (
	deferObjects = register(`UPDATE objects SET due_at = NULL
		WHERE (bucket_id, key) IN (SELECT bucket_id, key FROM ` + sqldb.Rows(1, "bucket_id text", "key text") + `)`)
	deferTrash = register(`UPDATE trash SET purge_at = ?2 WHERE id IN (SELECT entry FROM ` + sqldb.Rows(1, "entry text") + `)`)
	deferRow   = register(`INSERT INTO deferred (bucket_id, key, entry, due_at)
		SELECT bucket_id, key, entry, due_at FROM ` + sqldb.Rows(1, "bucket_id text", "key text", "entry text", "due_at bigint") + ` WHERE true
		ON CONFLICT (bucket_id, key, entry) DO UPDATE SET due_at = excluded.due_at`)
	insertRelease = register(`INSERT INTO releases (bucket_id, prefix, after_key, after_entry) SELECT id, ?2, '', '' FROM buckets WHERE id = ?1
		ON CONFLICT (bucket_id, prefix) DO UPDATE SET after_key = '', after_entry = ''`)
	anyRelease   = register(`SELECT 1 FROM releases LIMIT 1`)
	nextRelease  = register(`SELECT bucket_id, prefix FROM releases ORDER BY bucket_id, prefix LIMIT 1`)
	otherRelease = register(`SELECT 1 FROM releases WHERE bucket_id <> ?1 OR prefix <> ?2 LIMIT 1`)
	takeRelease  = register(`SELECT after_key, after_entry FROM releases WHERE bucket_id = ?1 AND prefix = ?2 ` + sqldb.Exclusive)
	moveRelease  = register(`UPDATE releases SET after_key = ?3, after_entry = ?4 WHERE bucket_id = ?1 AND prefix = ?2`)
	endRelease   = register(`DELETE FROM releases WHERE bucket_id = ?1 AND prefix = ?2`)
	deferredOf   = register(`SELECT key, entry, due_at FROM deferred
		WHERE bucket_id = ?1 AND (key, entry) > (?2, ?3) AND key >= ?4 AND (?5 = '' OR key < ?5)
		ORDER BY key, entry LIMIT ?6`)
	deleteDeferred = register(`DELETE FROM deferred
		WHERE (bucket_id, key, entry) IN (SELECT bucket_id, key, entry FROM ` + sqldb.Rows(1, "bucket_id text", "key text", "entry text") + `)`)
	returnObjects = register(`UPDATE objects
		SET due_at = ` + dueOf(``) + `
		WHERE (bucket_id, key) IN (SELECT bucket_id, key FROM ` + sqldb.Rows(1, "bucket_id text", "key text", "entry text") + ` WHERE t.entry = '')
			AND due_at IS NULL AND ` + dueOf(``) + ` <> 0`)
	// Hidden from the index of ends: SQLite would read all entries that are held, and the parameter for each.
	returnTrash = register(`UPDATE trash SET purge_at = t.due_at FROM ` + sqldb.Rows(1, "entry text", "due_at bigint") + `
		WHERE trash.id = t.entry AND trash.purge_at + 0 = ?2`)
)

// deferredRow is a due row that must not go.
type deferredRow struct {
	Bucket lethe.ID   `json:"bucket_id"`
	Key    string     `json:"key"`
	Entry  lethe.ID   `json:"entry"` // trash entry; empty: the object
	Due    lethe.Time `json:"due_at"`
}

// deferRows takes rows out of their due index.
func (t *tx) deferRows(list []deferredRow) error {
	if len(list) == 0 {
		return nil
	}
	rows := sqldb.JSON(list)
	if list[0].Entry == "" {
		if _, err := t.Send(deferObjects, rows); err != nil {
			return err
		}
	} else if _, err := t.Send(deferTrash, rows, lethe.Forever); err != nil {
		return err
	}
	_, err := t.Send(deferRow, rows)
	return err
}

// deferredObjects returns due objects as rows to deferRows.
func deferredObjects(list []dueRow) []deferredRow {
	out := make([]deferredRow, len(list))
	for i, d := range list {
		out[i] = deferredRow{Bucket: d.Bucket, Key: d.Key, Due: d.Due}
	}
	return out
}

// deferHeld defers the held rows.
func (t *tx) deferHeld(s *sifted) error {
	var asked []dueRow
	for _, d := range s.kept {
		if s.rules[d.Bucket].holds > 0 {
			asked = append(asked, d)
		}
	}
	held, err := t.heldBy(asked)
	if err != nil || len(held) == 0 {
		return err
	}
	var deferred, free []dueRow
	for _, d := range s.kept {
		if _, found := held[spot{d.Bucket, d.Key}]; found {
			deferred = append(deferred, d)
		} else {
			free = append(free, d)
		}
	}
	s.kept, s.held = free, len(deferred)
	return t.deferRows(deferredObjects(deferred))
}

// releaseDeferred requests that the deferred rows under a prefix be looked at again.
func (t *tx) releaseDeferred(bucket lethe.ID, prefix string) error {
	_, err := t.Send(insertRelease, bucket, prefix)
	return err
}

// ReturnDeferred returns up to limit deferred rows to their due index, where a hold was
// released or a limit reset, unless something else keeps them. It saves its position in the
// same transaction, and changes nothing where nothing is to return. Limits whose time
// has passed reset in a transaction before: a transaction that locks limits must not wait for
// a bucket (docs/protocol.md, rule 16).
func (db *DB) ReturnDeferred(ctx context.Context, limit int) (out ledger.ReturnedRows, err error) {
	var passed []ledger.LimitState
	idle := false
	err = db.walk(ctx, "look for deferred rows to return", func(t *tx) error {
		found, err := t.exists(anyRelease)
		if err != nil {
			return err
		}
		passed, err = all(t, scanLimitRow, passedLimits, t.Now)
		idle = !found && len(passed) == 0
		return err
	})
	if err != nil || idle {
		return out, err
	}
	if len(passed) > 0 {
		if err := db.batch(ctx, "reset limits whose time has passed", func(t *tx) error { return t.endLimits(passed) }); err != nil {
			return out, err
		}
	}
	err = db.batch(ctx, "return deferred rows", func(t *tx) error {
		out = ledger.ReturnedRows{}
		found, err := all(t, func(r *sql.Rows) (s spot, err error) {
			err = r.Scan(&s.bucket, &s.key)
			return s, err
		}, nextRelease)
		if err != nil || len(found) == 0 {
			return err
		}
		return t.returnUnder(found[0], bounded(limit), &out)
	})
	return out, err
}

func (t *tx) returnUnder(l spot, limit int64, out *ledger.ReturnedRows) error {
	buckets, err := t.rulesByID([]lethe.ID{l.bucket})
	if err != nil {
		return err
	}
	var key, entry string
	err = t.Row(takeRelease, l.bucket, l.key).Scan(&key, &entry)
	if errors.Is(err, sql.ErrNoRows) {
		out.More = true // another instance has just ended it, so look again
		return nil
	}
	if err != nil {
		return t.Failed(err)
	}
	list, err := all(t, func(r *sql.Rows) (p deferredRow, err error) {
		p.Bucket = l.bucket
		err = r.Scan(&p.Key, &p.Entry, &p.Due)
		return p, err
	}, deferredOf, l.bucket, key, entry, l.key, following(l.key), limit)
	if err != nil {
		return err
	}
	out.Seen = len(list)
	if err := t.returnRows(list, buckets[l.bucket].holds > 0, out); err != nil {
		return err
	}
	if int64(len(list)) == limit {
		out.More = true
		last := list[len(list)-1]
		return t.Must(1, lethe.ErrFenced, moveRelease, l.bucket, l.key, last.Key, last.Entry)
	}
	if err := t.Must(1, lethe.ErrFenced, endRelease, l.bucket, l.key); err != nil {
		return err
	}
	out.More, err = t.exists(otherRelease, l.bucket, l.key)
	return err
}

// returnRows returns the rows that nothing keeps to their index.
func (t *tx) returnRows(list []deferredRow, holds bool, out *ledger.ReturnedRows) error {
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
	var free []deferredRow
	for _, p := range list {
		if _, still := held[spot{p.Bucket, p.Key}]; !still {
			free = append(free, p)
		}
	}
	if len(free) == 0 {
		return nil
	}
	rows := sqldb.JSON(free)
	for _, statement := range []string{lockedEntries, lockedObjects} {
		if err := t.lockFirst(statement, rows); err != nil {
			return err
		}
	}
	objects, err := t.Exec(returnObjects, rows)
	if err != nil {
		return err
	}
	trash, err := t.Exec(returnTrash, rows, lethe.Forever)
	if err != nil {
		return err
	}
	out.Returned = int(objects + trash)
	_, err = t.Send(deleteDeferred, rows)
	return err
}
