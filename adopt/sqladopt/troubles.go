package sqladopt

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// Kinds of lethe.troubles; 3 is a suspension, with an empty key.
const (
	objectGone = 1 // of a key that something refers to
	countWrong = 2 // of a content
)

const (
	insertTroubles = `INSERT INTO {lethe}troubles (collection, kind, "key", at) SELECT ?2, ?3, t.id, ?4 FROM {ids 1} WHERE TRUE
		ON CONFLICT (collection, kind, "key") DO UPDATE SET at = excluded.at`
	// insertMissing records the objects of contents.
	insertMissing = `INSERT INTO {lethe}troubles (collection, kind, "key", at) SELECT d.collection, ?3, d.object, ?4
		FROM (SELECT DISTINCT collection, object FROM {lethe}condemned WHERE collection = ?2 AND content IN (SELECT id FROM {ids 1})) AS d
		WHERE TRUE ON CONFLICT (collection, kind, "key") DO UPDATE SET at = excluded.at`
	countTroubles = `SELECT coalesce(sum(CASE WHEN kind = 1 THEN 1 ELSE 0 END), 0), coalesce(sum(CASE WHEN kind = 2 THEN 1 ELSE 0 END), 0)
		FROM {lethe}troubles WHERE collection = ?1`
	countStuck = `SELECT count(*) FROM (SELECT 1 FROM {rows} r
		WHERE {is claimed} AND (r.{initiated} <= {as initiated}?1{close initiated} OR r.{initiated} IS NULL) LIMIT ?2) AS s`
	troublePage = `SELECT "key" FROM {lethe}troubles WHERE collection = ?1 AND kind = 1 AND "key" > ?2 ORDER BY "key" LIMIT ?3`
	oldDrifts   = `SELECT "key" FROM {lethe}troubles WHERE collection = ?1 AND kind = 2 AND at <= ?2 ORDER BY at, "key" LIMIT ?3`
	endTroubles = `DELETE FROM {lethe}troubles WHERE collection = ?1 AND kind = ?2 AND "key" IN (SELECT id FROM {ids 3})`

	endSuspension = `DELETE FROM {lethe}troubles WHERE collection = ?1 AND kind = 3`
	addSuspension = `INSERT INTO {lethe}troubles (collection, kind, "key", at, why) VALUES (?1, 3, '', ?2, ?3)`
	suspensions   = `SELECT collection, why, at FROM {lethe}troubles WHERE kind = 3`
)

// trouble records what was found wrong: the statement, the kind and keys.
func (s scope) trouble(t *tx, text string, kind int, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	_, err := t.exec(text, sqldb.JSON(keys), s.name, kind, t.now)
	return err
}

// mended deletes the records of what is repaired.
func (s scope) mended(t *tx, kind int, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	_, err := t.exec(endTroubles, s.name, kind, sqldb.JSON(keys))
	return err
}

// Troubles is the record of what is wrong in one collection.
type Troubles struct {
	scope
	c     *Collection // nil without counts and claims
	named func(t *tx, keys []string) (map[string]bool, error)
}

var _ adopt.TroubleRows = (*Troubles)(nil)

// Troubles returns the record of what is wrong with the rows and contents.
func (c *Collection) Troubles() *Troubles {
	named := c.Quarantine().named
	if len(c.c.Rows.Objects) > 0 {
		named = func(t *tx, keys []string) (map[string]bool, error) {
			seen, err := c.look(t, keys)
			out := make(map[string]bool, len(seen))
			for key, l := range seen {
				out[key] = l.referenced
			}
			return out, err
		}
	}
	return &Troubles{c.scope, c, named}
}

// Troubles returns the record of objects that rows name and that are gone.
func (k *Keys) Troubles() *Troubles { return &Troubles{k.scope, nil, k.Quarantine().named} }

// Troubles implements adopt.TroubleRows. Nothing is recorded before Lethe's
// tables exist.
func (r *Troubles) Troubles(ctx context.Context) (out adopt.Troubles, err error) {
	err = r.read(ctx, "count what is wrong", func(t *tx) error {
		out = adopt.Troubles{}
		there, err := r.db.engine.has(t, "troubles")
		if err != nil {
			return err
		}
		if there {
			if err := t.row(countTroubles, r.name).Scan(&out.Missing, &out.Drifted); err != nil {
				return err
			}
		}
		if r.c == nil || r.c.c.Rows.Status == nil {
			return nil
		}
		return t.row(countStuck, t.now.Add(-r.grace.Watchdog), adopt.MaxCounted).Scan(&out.Stuck)
	})
	return out, err
}

// Review implements adopt.TroubleRows.
func (r *Troubles) Review(ctx context.Context, after string, limit int) (left []string, next string, err error) {
	err = r.write(ctx, "look again at what is wrong", func(t *tx) error {
		next = ""
		if err := r.recount(t, limit); err != nil {
			return err
		}
		page, err := all(t, text, troublePage, r.name, after, limit)
		if err != nil {
			return err
		}
		if len(page) == limit {
			next = page[limit-1]
		}
		left, err = r.still(t, page)
		return err
	})
	return left, next, err
}

// still returns the missing objects that something refers to, and forgets the
// others.
func (r *Troubles) still(t *tx, keys []string) (left []string, err error) {
	if len(keys) == 0 {
		return nil, nil
	}
	named, err := r.named(t, keys)
	if err != nil {
		return nil, err
	}
	var over []string
	for _, key := range keys {
		if named[key] {
			left = append(left, key)
		} else {
			over = append(over, key)
		}
	}
	return left, r.mended(t, objectGone, over)
}

// recount forgets counts that are right.
func (r *Troubles) recount(t *tx, limit int) error {
	if r.c == nil || r.c.c.Contents == nil || r.c.c.Contents.Count == "" {
		return nil
	}
	keys, err := all(t, text, oldDrifts, r.name, t.now.Add(-adopt.DriftShown), limit)
	if err != nil || len(keys) == 0 {
		return err
	}
	wrong, err := r.c.drifts(t, keys)
	if err != nil {
		return err
	}
	keys = slices.DeleteFunc(keys, func(key string) bool {
		return slices.ContainsFunc(wrong, func(d Drift) bool { return d.Content == key })
	})
	return r.mended(t, countWrong, keys)
}

// Mended implements adopt.TroubleRows.
func (r *Troubles) Mended(ctx context.Context, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	return r.write(ctx, "forget what is right again", func(t *tx) error { return r.mended(t, objectGone, keys) })
}

// Suspension is why the instance that checked a collection last does not work
// on it.
type Suspension struct {
	Why string
	At  lethe.Time
}

// Suspend records why an instance does not work on a collection; an empty
// reason means that it does.
func (db *DB) Suspend(ctx context.Context, collection, why string) error {
	return db.write(ctx, "note a suspension", func(t *tx) error {
		if _, err := t.exec(endSuspension, collection); err != nil || why == "" {
			return err
		}
		_, err := t.exec(addSuspension, collection, t.now, why)
		return err
	})
}

// Suspensions returns the recorded ones, by collection.
func (db *DB) Suspensions(ctx context.Context) (map[string]Suspension, error) {
	out := map[string]Suspension{}
	err := db.read(ctx, "look for suspensions", func(t *tx) error {
		clear(out)
		if there, err := db.engine.has(t, "troubles"); err != nil || !there {
			return err
		}
		_, err := all(t, func(r *sql.Rows) (name string, err error) {
			var s Suspension
			err = r.Scan(&name, &s.Why, &s.At)
			out[name] = s
			return name, err
		}, suspensions)
		return err
	})
	return out, err
}

// Nearing is what is to be deleted for good, and the number of live rows.
type Nearing struct {
	Waits int64      // whose retention is not over
	First lethe.Time // end of the first retention; 0 if none waits
	Soon  int64      // those whose retention ends within a given time
	Live  int64      // rows at the last run; 0 if unknown
	// Within is that time, if any wait.
	Within time.Duration
}

// nearing returns the query that counts what waits, by the instant since which,
// or until which, it waits.
func nearing(at, table string) string {
	return `SELECT count(*), coalesce(min(` + at + `), 0), coalesce(sum(CASE WHEN ` + at + ` <= ?3 THEN 1 ELSE 0 END), 0), (` + lastRows + `)
		FROM {lethe}` + table + ` WHERE collection = ?1 AND ` + at + ` > ?2`
}

var (
	nearingFolders = nearing("marked_at", "folders") + ` AND state = 3`
	nearingOrphans = nearing("since_at", "orphans")
	nearingMoved   = nearing("until_at", "quarantined") + ` AND state = 2`
)

// Nearing counts the marked folders whose retention is over within a given
// time.
func (f *Folders) Nearing(ctx context.Context, retention, within time.Duration) (Nearing, error) {
	return f.nearing(ctx, nearingFolders, retention, within)
}

// Nearing counts the orphans whose retention is over within a given time.
func (k *Keys) Nearing(ctx context.Context, retention, within time.Duration) (Nearing, error) {
	return k.nearing(ctx, nearingOrphans, retention, within)
}

// Nearing counts the copies whose retention is over within a given time.
func (q *Quarantine) Nearing(ctx context.Context, within time.Duration) (Nearing, error) {
	return q.nearing(ctx, nearingMoved, 0, within)
}

func (s scope) nearing(ctx context.Context, text string, retention, within time.Duration) (out Nearing, err error) {
	err = s.read(ctx, "count what is soon deleted", func(t *tx) error {
		over := t.now.Add(-retention)
		if err := t.row(text, s.name, over, over.Add(within)).Scan(&out.Waits, &out.First, &out.Soon, &out.Live); err != nil {
			return err
		}
		if out.Waits > 0 {
			out.First, out.Within = out.First.Add(retention), within
		}
		return nil
	})
	return out, err
}
