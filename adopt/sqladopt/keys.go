package sqladopt

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// Keys are the keys that the rows of one collection name, and the record of
// objects without a row.
type Keys struct {
	scope
}

var _ adopt.KeyRows = (*Keys)(nil)

// {named} is the query of keys, with one column: named(key).
const (
	streamKeys = `SELECT {named key} FROM {named} WHERE named.key IS NOT NULL ORDER BY {named key} {binary}`
	namedKeys  = `SELECT DISTINCT {named key} FROM {named} WHERE {named key} IN (SELECT id FROM {ids 1})`
	sampleKeys = `SELECT {named key} FROM {named} WHERE named.key IS NOT NULL LIMIT ?1`
	// livingKeys counts the same keys as Stream.
	livingKeys = `SELECT count(DISTINCT {named key}), (` + lastRows + `) FROM {named}
		WHERE substr({named key}, 1, ?3) = ?2 AND {named key} <> ?2`
	noNames = `SELECT * FROM {named} LIMIT 0`

	seeOrphans = `INSERT INTO {lethe}orphans AS o (collection, "key", size, modified, since_at, seen_at)
		SELECT ?2, t.key, t.size, t.modified, ?3, ?3 FROM ` + "{rows 1: key text, size bigint, modified bigint}" + ` WHERE TRUE
		ON CONFLICT (collection, "key") DO UPDATE SET since_at = CASE WHEN o.modified = excluded.modified AND o.size = excluded.size THEN o.since_at ELSE excluded.since_at END,
			seen_at = excluded.seen_at, size = excluded.size, modified = excluded.modified`
	allowOrphans = `UPDATE {lethe}orphans SET allowed_at = ?3 WHERE collection = ?1 AND "key" IN (SELECT id FROM {ids 2})`
	dueOrphans   = `SELECT "key" FROM {lethe}orphans WHERE collection = ?1 AND "key" IN (SELECT id FROM {ids 2})
		AND since_at <= ?3 ORDER BY "key" LIMIT ?4 ` + sqldb.Exclusive
	endOrphans      = `DELETE FROM {lethe}orphans WHERE collection = ?1 AND "key" IN (SELECT id FROM {ids 2})`
	goneUnconfirmed = `SELECT "key" FROM {lethe}orphans WHERE collection = ?1 AND seen_at < ?2 AND allowed_at <> 0 ORDER BY "key"`
	otherOrphans    = `DELETE FROM {lethe}orphans WHERE collection = ?1 AND seen_at < ?2`
	countOrphans    = `SELECT count(*), coalesce(min(since_at), 0) FROM {lethe}orphans WHERE collection = ?1`
)

// Keys prepares a collection of keys, and tests its query.
func (db *DB) Keys(ctx context.Context, name string, c adopt.Collection) (*Keys, error) {
	k := &Keys{db.scope(name, c, foldingWords(c.Keys.Query).with(words{
		"{named}": source(c.Keys.Query, "named", "key"), "{named key}": db.engine.text("named.key", column{}),
	}))}
	err := k.read(ctx, "try the query", func(t *tx) error {
		if err := t.oneColumn(noNames, "the whole keys (of several columns UNION ALL makes one)"); err != nil {
			return err
		}
		return t.apart()
	})
	if err != nil {
		return nil, fmt.Errorf("collection %s: keys.query has to be a SELECT of one column: %w", name, err)
	}
	return k, nil
}

// Stream implements adopt.KeyRows. There was no last run before Lethe's tables
// exist.
func (k *Keys) Stream(ctx context.Context, fn func(string) error) (at lethe.Time, last int64, err error) {
	err = k.read(ctx, "read the keys", func(t *tx) error {
		if err := k.db.engine.allow(t, 0); err != nil {
			return err
		}
		at, last = t.now, 0
		if installed, err := k.db.engine.has(t, "live_rows"); err != nil {
			return err
		} else if installed {
			if err := t.row(lastRows, k.name).Scan(&last); err != nil {
				return err
			}
		}
		rows, err := t.s.Ask(t.ctx, streamKeys, nil)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			key, err := text(rows)
			if err == nil && strings.HasPrefix(key, k.prefix) {
				err = listable(key) // Named would not find it, and an object may have its name in UTF-8
			}
			if err != nil {
				return err
			}
			if err := fn(key); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	return at, last, err
}

// Sample returns up to limit of the keys.
func (k *Keys) Sample(ctx context.Context, limit int) (keys []string, err error) {
	err = k.read(ctx, "sample keys", func(t *tx) error {
		keys, err = all(t, text, sampleKeys, limit)
		return err
	})
	return keys, err
}

// Living counts the keys below a prefix that rows name, and those of the last run.
func (k *Keys) Living(ctx context.Context, prefix string) (rows, last int64, err error) {
	err = k.read(ctx, "count the keys", func(t *tx) error {
		return t.row(livingKeys, k.name, prefix, utf8.RuneCountInString(prefix)).Scan(&rows, &last)
	})
	return rows, last, err
}

// Named implements adopt.KeyRows.
func (k *Keys) Named(ctx context.Context, keys []string) (named []string, err error) {
	err = k.read(ctx, "look for keys", func(t *tx) error {
		named, err = all(t, text, namedKeys, sqldb.JSON(keys))
		return err
	})
	return named, err
}

// orphanRow is an orphan as a parameter.
type orphanRow struct {
	Key      string     `json:"key"`
	Size     int64      `json:"size"`
	Modified lethe.Time `json:"modified"`
}

// See implements adopt.KeyRows.
func (k *Keys) See(ctx context.Context, s adopt.Seeing) (out adopt.Seen, err error) {
	keys := make([]string, len(s.Orphans))
	for i, o := range s.Orphans {
		keys[i] = o.Key
	}
	err = k.write(ctx, "see orphans", func(t *tx) error {
		h, err := k.holding(t)
		if err != nil {
			return err
		}
		holds, err := h.on(adopt.HoldObject, sqldb.JSON(keys))
		if err != nil {
			return err
		}
		named, err := all(t, text, namedKeys, sqldb.JSON(keys))
		if err != nil {
			return err
		}
		if _, err := t.exec(endOrphans, k.name, sqldb.JSON(named)); err != nil {
			return err
		}
		lives := make(map[string]bool, len(named))
		for _, key := range named {
			lives[key] = true
		}
		var rows []orphanRow
		var left []string
		out = adopt.Seen{}
		for _, o := range s.Orphans {
			if lives[o.Key] {
				continue
			}
			rows = append(rows, orphanRow{o.Key, o.Size, o.Modified})
			if holds.Object(o.Key) != nil {
				out.Held++
				continue
			}
			left = append(left, o.Key)
		}
		out.Orphans = len(rows)
		if _, err := t.exec(seeOrphans, sqldb.JSON(rows), k.name, t.now); err != nil {
			return err
		}
		out.Condemned, err = all(t, text, dueOrphans, k.name, sqldb.JSON(left), t.now.Add(-s.Retention), max(0, s.Most))
		if err != nil || len(out.Condemned) == 0 || s.Look {
			return err
		}
		_, err = t.exec(allowOrphans, k.name, sqldb.JSON(out.Condemned), t.now)
		return err
	})
	return out, err
}

// Gone implements adopt.KeyRows.
func (k *Keys) Gone(ctx context.Context, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	return k.write(ctx, "end orphans", func(t *tx) error {
		if _, err := t.exec(endOrphans, k.name, sqldb.JSON(keys)); err != nil {
			return err
		}
		_, err := t.exec(insertReceipt, k.name, "orphans", t.now, sqldb.JSON(keys))
		return err
	})
}

// End implements adopt.KeyRows.
func (k *Keys) End(ctx context.Context, rows int64, since lethe.Time) error {
	return k.write(ctx, "end a comparison", func(t *tx) error {
		if _, err := t.exec(noteRows, k.name, rows, since, t.now); err != nil {
			return err
		}
		// Their worker died between the delete and Gone.
		unconfirmed, err := all(t, text, goneUnconfirmed, k.name, since)
		if err != nil {
			return err
		}
		if len(unconfirmed) > 0 {
			if _, err := t.exec(insertReceipt, k.name, "unconfirmed", t.now, sqldb.JSON(unconfirmed)); err != nil {
				return err
			}
		}
		_, err = t.exec(otherOrphans, k.name, since)
		return err
	})
}

// Known implements adopt.KeyRows.
func (k *Keys) Known(ctx context.Context) (out adopt.Backlog, err error) {
	err = k.read(ctx, "count orphans", func(t *tx) error {
		return t.row(countOrphans, k.name).Scan(&out.Due, &out.Oldest)
	})
	return out, err
}
