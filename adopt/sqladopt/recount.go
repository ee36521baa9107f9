package sqladopt

import (
	"context"
	"database/sql"
	"errors"

	"github.com/lethe-storage/lethe/internal/sqldb"
)

// Drift is a content whose count differs from the number of rows that refer to
// it.
type Drift struct {
	Content string
	Count   sql.NullInt64
	Rows    int64
}

const (
	contentPage = `SELECT {c key} FROM {contents} c
		WHERE ?1 = '' OR c.{ckey} > {ckey after} ORDER BY c.{ckey} LIMIT ?2`
	countRows = `SELECT {c key}, c.{count}, (SELECT count(*) FROM {rows} r WHERE r.{content column} = c.{ckey})
		FROM {contents} c WHERE c.{ckey} IN (SELECT {ckey of id} FROM {ids 1})`
	lockCounts = `SELECT {c key} FROM {contents} c
		WHERE c.{ckey} IN (SELECT {ckey of id} FROM {ids 1}) ORDER BY c.{ckey} ` + sqldb.Exclusive
	setCount = `UPDATE {contents} SET {count} = ?2 WHERE {ckey} IN (SELECT {ckey of id} FROM {ids 1})`
)

// ErrNoCount reports that the contents of the collection have no column of
// counts.
var ErrNoCount = errors.New("the collection's contents have no count")

// Recount compares the counts of up to limit contents after the key with the
// rows that refer to them. It returns those that differ and the key to continue
// at, empty at the end. With repair it corrects them under a lock on each, so
// that a row that is inserted or removed meanwhile, and counts in the same
// transaction, is counted once. One transaction.
func (c *Collection) Recount(ctx context.Context, after string, limit int, repair bool) (drifts []Drift, next string, err error) {
	if c.c.Contents == nil || c.c.Contents.Count == "" {
		return nil, "", ErrNoCount
	}
	transact := c.read
	if repair {
		transact = c.write
	}
	err = transact(ctx, "recount contents", func(t *tx) error {
		drifts, next = nil, ""
		keys, err := all(t, text, contentPage, after, limit)
		if err != nil || len(keys) == 0 {
			return err
		}
		if len(keys) == limit {
			next = keys[limit-1]
		}
		if drifts, err = t.drifts(keys); err != nil || !repair {
			return err
		}
		if len(drifts) > 0 {
			if drifts, err = t.repair(drifts); err != nil {
				return err
			}
		}
		if there, err := c.db.engine.has(t, "troubles"); err != nil || !there {
			return err
		}
		return c.mended(t, countWrong, keys)
	})
	return drifts, next, err
}

// drifts returns those of the contents whose count is wrong.
func (t *tx) drifts(keys []string) (out []Drift, err error) {
	found, err := all(t, func(r *sql.Rows) (d Drift, err error) {
		err = r.Scan(&d.Content, &d.Count, &d.Rows)
		return d, err
	}, countRows, sqldb.JSON(keys))
	for _, d := range found {
		if !d.Count.Valid || d.Count.Int64 != d.Rows {
			out = append(out, d)
		}
	}
	return out, err
}

// repair corrects counts, after it has locked the contents and counted again.
func (t *tx) repair(drifts []Drift) ([]Drift, error) {
	keys := make([]string, len(drifts))
	for i, d := range drifts {
		keys[i] = d.Content
	}
	if _, err := all(t, text, lockCounts, sqldb.JSON(keys)); err != nil {
		return nil, err
	}
	again, err := t.drifts(keys)
	if err != nil {
		return nil, err
	}
	by := map[int64][]string{}
	for _, d := range again {
		by[d.Rows] = append(by[d.Rows], d.Content)
	}
	for n, keys := range by {
		if _, err := t.exec(setCount, sqldb.JSON(keys), n); err != nil {
			return nil, err
		}
	}
	return again, nil
}
