package sqladopt

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// Quarantine is the record of a collection's moved objects.
type Quarantine struct {
	scope
	// named returns those of the keys of objects that rows name, and whether
	// something refers to them.
	named func(t *tx, keys []string) (map[string]bool, error)
}

var _ adopt.QuarantineRows = (*Quarantine)(nil)

// Quarantine returns the record of contents whose objects were moved.
func (c *Collection) Quarantine() *Quarantine {
	return &Quarantine{c.scope, func(t *tx, keys []string) (map[string]bool, error) {
		named := map[string]bool{}
		t.looked = true
		_, err := all(t, func(r *sql.Rows) (key string, err error) {
			var referred bool
			err = r.Scan(&key, &referred)
			named[key] = referred
			return key, err
		}, namedObjects, sqldb.JSON(keys))
		return named, err
	}}
}

// Quarantine returns the record of orphans that were moved.
func (k *Keys) Quarantine() *Quarantine {
	return &Quarantine{k.scope, func(t *tx, keys []string) (map[string]bool, error) {
		keys, err := all(t, text, namedKeys, sqldb.JSON(keys))
		named := make(map[string]bool, len(keys))
		for _, key := range keys {
			named[key] = true
		}
		return named, err
	}}
}

const (
	// namedObjects returns objects of contents, and whether those are counted
	// or referred to.
	namedObjects = `SELECT {object}, CASE WHEN {unreferenced} AND NOT {referenced} THEN 0 ELSE 1 END
		FROM {contents} c WHERE {object} IN (SELECT id FROM {ids 1})`

	movingRows = `SELECT "key", state, tag, due_at, late_at, fence FROM {lethe}quarantined
		WHERE collection = ?1 AND "key" IN (SELECT id FROM {ids 2}) ORDER BY "key" ` + sqldb.Exclusive
	insertMoves = `INSERT INTO {lethe}quarantined (collection, "key", copy, size, tag, state, fence, due_at, since_at)
		SELECT ?2, t.key, t.copy, t.size, t.tag, 1, ?3, ?4, ?5 FROM ` + "{rows 1: key text, copy text, size bigint, tag text}" + ` WHERE TRUE
		ON CONFLICT `
	newMoves   = insertMoves + `DO NOTHING`
	beginMoves = insertMoves + `(collection, "key") DO UPDATE SET copy = excluded.copy, size = excluded.size, tag = excluded.tag, state = 1,
			fence = excluded.fence, due_at = excluded.due_at, since_at = excluded.since_at, until_at = 0, late_at = 0, wanted = 0`
	// insertFound knows no bytes that a copy was made of.
	insertFound = `INSERT INTO {lethe}quarantined (collection, "key", copy, size, tag, state, fence, due_at, since_at, until_at, late_at)
		SELECT ?2, t.key, t.copy, t.size, t.tag, 2, 0, 0, ?3, ?4, ?5 FROM {rows 1: key text, copy text, size bigint, tag text} WHERE TRUE
		ON CONFLICT DO NOTHING`
	recordedKeys = `SELECT "key" FROM {lethe}quarantined WHERE collection = ?1 AND "key" IN (SELECT id FROM {ids 2})`
	takeHeld     = `UPDATE {lethe}quarantined SET fence = ?3, due_at = ?4 WHERE collection = ?1 AND "key" IN (SELECT id FROM {ids 2})`
	moved        = `UPDATE {lethe}quarantined SET state = 2, due_at = 0, since_at = ?3, until_at = ?4, late_at = ?5, wanted = 0 WHERE collection = ?1 AND "key" IN (SELECT id FROM {ids 2})`
	heldPage     = `SELECT "key", copy, size, state, since_at, until_at, late_at, due_at, wanted FROM {lethe}quarantined
		WHERE collection = ?1 AND "key" > ?2 ORDER BY "key" LIMIT ?3`
	heldRowsOf = `SELECT "key", copy, size, state, since_at, until_at, late_at, due_at, wanted FROM {lethe}quarantined
		WHERE collection = ?1 AND "key" IN (SELECT id FROM {ids 2}) ORDER BY "key" ` + sqldb.Exclusive
	heldOne = `SELECT "key", copy, size, state, since_at, until_at, late_at, due_at, wanted FROM {lethe}quarantined
		WHERE collection = ?1 AND "key" = ?2`
	claimHeld = `UPDATE {lethe}quarantined SET state = ?3, fence = ?4, due_at = ?5 WHERE collection = ?1 AND "key" IN (SELECT id FROM {ids 2})`
	keepHeld  = `UPDATE {lethe}quarantined SET state = CASE WHEN state = 4 THEN 4 ELSE 2 END, due_at = 0 WHERE collection = ?1 AND "key" IN (SELECT id FROM {ids 2})`
	endHeld   = `DELETE FROM {lethe}quarantined WHERE collection = ?1 AND "key" IN (SELECT id FROM {ids 2})`
	wantHeld  = `UPDATE {lethe}quarantined SET wanted = 1 WHERE collection = ?1 AND "key" = ?2`
	marksOf   = `SELECT content FROM {lethe}condemned WHERE collection = ?1 AND object = ?2`
	countHeld = `SELECT count(*), coalesce(min(since_at), 0) FROM {lethe}quarantined WHERE collection = ?1`
)

// onRecord is a recorded object.
type onRecord struct {
	key, tag string
	state    adopt.QuarantineState
	due      lethe.Time
	late     lethe.Time
	fence    int64
}

// records returns the records of objects, locked, by their keys.
func (q *Quarantine) records(t *tx, keys []string) (map[string]onRecord, error) {
	rows, err := all(t, func(r *sql.Rows) (o onRecord, err error) {
		err = r.Scan(&o.key, &o.state, &o.tag, &o.due, &o.late, &o.fence)
		return o, err
	}, movingRows, q.name, sqldb.JSON(keys))
	known := make(map[string]onRecord, len(rows))
	for _, o := range rows {
		known[o.key] = o
	}
	return known, err
}

// Begin implements adopt.QuarantineMoves.
func (q *Quarantine) Begin(ctx context.Context, found []adopt.FoundObject, late time.Duration) (out adopt.Begun, err error) {
	keys := make([]string, len(found))
	for i, f := range found {
		keys[i] = f.Key
	}
	err = q.write(ctx, "begin to move objects", func(t *tx) error {
		known, err := q.records(t, keys)
		if err != nil {
			return err
		}
		out = adopt.Begun{Fence: drawFence()}
		var fresh, again []adopt.FoundObject
		for _, f := range found {
			o, recorded := known[f.Key]
			switch {
			case recorded && o.due > t.now:
			case f.Absent:
				out.Gone = append(out.Gone, f.Key)
			case recorded && o.state == adopt.Quarantined && o.tag == f.Tag:
				out.Remove = append(out.Remove, f.Key)
			case recorded && o.late > t.now: // a delete may yet take the present object
			case recorded:
				out.Copy, again = append(out.Copy, f.Key), append(again, f)
			default:
				out.Copy, fresh = append(out.Copy, f.Key), append(fresh, f)
			}
		}
		for _, step := range []struct {
			text string
			list []adopt.FoundObject
		}{{newMoves, fresh}, {beginMoves, again}} {
			if len(step.list) == 0 {
				continue
			}
			n, err := t.exec(step.text, sqldb.JSON(step.list), q.name, out.Fence, t.now.Add(late), t.now)
			if err == nil && n < int64(len(step.list)) {
				err = sqldb.ErrAgain // another worker has recorded one since
			}
			if err != nil {
				return err
			}
		}
		return q.onKeys(t, takeHeld, out.Remove, out.Fence, t.now.Add(late))
	})
	return out, err
}

// Moved implements adopt.QuarantineMoves.
func (q *Quarantine) Moved(ctx context.Context, fence int64, keys []string, g adopt.Terms) (may []string, err error) {
	if len(keys) == 0 {
		return nil, nil
	}
	err = q.write(ctx, "record copies", func(t *tx) error {
		h, err := q.holding(t)
		if err != nil {
			return err
		}
		holds, err := h.on(adopt.HoldObject, sqldb.JSON(keys))
		if err != nil {
			return err
		}
		known, err := q.records(t, keys)
		if err != nil {
			return err
		}
		lives, err := q.named(t, keys)
		if err != nil {
			return err
		}
		may = nil
		for _, key := range keys {
			if o := known[key]; o.fence == fence && (o.state == adopt.Moving || o.state == adopt.Quarantined) && !lives[key] && holds.Object(key) == nil {
				may = append(may, key)
			}
		}
		if err := q.onKeys(t, moved, may, t.now, t.now.Add(g.Retention), t.now.Add(g.Late)); err != nil || len(may) == 0 {
			return err
		}
		_, err = t.exec(insertReceipt, q.name, "quarantined", t.now, sqldb.JSON(may))
		return err
	})
	return may, err
}

// held reads records, with whether something refers to them.
func (q *Quarantine) held(t *tx, text string, args ...any) (out []adopt.QuarantinedObject, err error) {
	out, err = all(t, func(r *sql.Rows) (h adopt.QuarantinedObject, err error) {
		err = r.Scan(&h.Key, &h.Copy, &h.Size, &h.State, &h.Since, &h.Until, &h.Late, &h.Due, &h.Wanted)
		return h, err
	}, text, append([]any{q.name}, args...)...)
	if err != nil || len(out) == 0 {
		return out, err
	}
	keys := make([]string, len(out))
	for i, h := range out {
		keys[i] = h.Key
	}
	// A separate statement: it sees what was committed before the locks.
	named, err := q.named(t, keys)
	if err != nil {
		return nil, err
	}
	holds, err := t.holds(q.db.engine, q.name)
	for i := range out {
		out[i].Named, out[i].Known = named[out[i].Key]
		out[i].OnHold = holds.Object(out[i].Key) != nil
	}
	return out, err
}

// Page implements adopt.QuarantineRecords.
func (q *Quarantine) Page(ctx context.Context, after string, limit int) (out adopt.QuarantinePage, err error) {
	err = q.read(ctx, "look at the quarantine", func(t *tx) error {
		out.Now = t.now
		out.Objects, err = q.held(t, heldPage, after, limit)
		return err
	})
	return out, err
}

// Claim implements adopt.QuarantineRecords.
func (q *Quarantine) Claim(ctx context.Context, c adopt.ClaimRequest) (fence int64, keys []string, err error) {
	err = q.write(ctx, "claim objects in quarantine", func(t *tx) error {
		if _, err := q.holding(t); err != nil {
			return err
		}
		held, err := q.held(t, heldRowsOf, sqldb.JSON(c.Keys))
		if err != nil {
			return err
		}
		keys, fence = nil, drawFence()
		for _, h := range held {
			if c.May(h, t.now) {
				keys = append(keys, h.Key)
			}
		}
		return q.onKeys(t, claimHeld, keys, c.For, fence, t.now.Add(c.Late))
	})
	return fence, keys, err
}

// End implements adopt.QuarantineRecords.
func (q *Quarantine) End(ctx context.Context, fence int64, keys []string, how adopt.QuarantineOutcome) (ours []string, err error) {
	err = q.write(ctx, "end what was claimed in quarantine", func(t *tx) error {
		known, err := q.records(t, keys)
		if err != nil {
			return err
		}
		maps.DeleteFunc(known, func(_ string, o onRecord) bool { return o.fence != fence })
		ours = slices.Sorted(maps.Keys(known))
		switch how {
		case adopt.Left:
			return q.onKeys(t, keepHeld, ours)
		case adopt.Restored:
			return q.ended(t, keepHeld, ours, "restored")
		case adopt.Lost:
			if err := q.trouble(t, insertTroubles, objectGone, ours); err != nil {
				return err
			}
		}
		return q.ended(t, endHeld, ours, "purged")
	})
	return ours, err
}

// ended changes records, and writes receipts.
func (q *Quarantine) ended(t *tx, text string, keys []string, kind string) error {
	if err := q.onKeys(t, text, keys); err != nil || len(keys) == 0 {
		return err
	}
	_, err := t.exec(insertReceipt, q.name, kind, t.now, sqldb.JSON(keys))
	return err
}

// Want implements adopt.QuarantineRecords.
func (q *Quarantine) Want(ctx context.Context, key string) (known bool, err error) {
	err = q.write(ctx, "ask for an object in quarantine", func(t *tx) error {
		n, err := t.exec(wantHeld, q.name, key)
		if known = n > 0; err != nil || !known {
			return err
		}
		contents, err := all(t, text, marksOf, q.name, key)
		if err != nil {
			return err
		}
		return q.onKeys(t, dropMarks, contents) // else it would be moved again
	})
	return known, err
}

// Found implements adopt.QuarantineRecords.
func (q *Quarantine) Found(ctx context.Context, copies []adopt.FoundObject, g adopt.Terms, anyway bool) (n int, err error) {
	keys := make([]string, len(copies))
	for i, c := range copies {
		keys[i] = c.Key
	}
	err = q.write(ctx, "record copies that were found", func(t *tx) error {
		n = 0
		known, err := all(t, text, recordedKeys, q.name, sqldb.JSON(keys))
		if err != nil || len(known) == len(copies) {
			return err
		}
		named, err := q.named(t, keys)
		if err != nil {
			return err
		}
		fresh := slices.DeleteFunc(slices.Clone(copies), func(c adopt.FoundObject) bool {
			return slices.Contains(known, c.Key) || !anyway && !named[c.Key]
		})
		if len(fresh) == 0 {
			return nil
		}
		added, err := t.exec(insertFound, sqldb.JSON(fresh), q.name, t.now, t.now.Add(g.Retention), t.now.Add(g.Late))
		n = int(added)
		return err
	})
	return n, err
}

// InQuarantine implements adopt.QuarantineRecords.
func (q *Quarantine) InQuarantine(ctx context.Context) (out adopt.Backlog, err error) {
	err = q.read(ctx, "count the quarantine", func(t *tx) error {
		return t.row(countHeld, q.name).Scan(&out.Due, &out.Oldest)
	})
	return out, err
}
