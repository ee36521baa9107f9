package sqladopt

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lethe-storage/lethe/internal/sqldb"
)

// Drift is a content whose count differs from the number of rows that refer to
// it.
type Drift struct {
	Content string
	Count   sql.NullInt64
	Rows    int64 // of all tables with a foreign key to contents
}

func (d Drift) right() bool { return d.Count.Valid && d.Count.Int64 == d.Rows }

const (
	contentPage = `SELECT {c key} FROM {contents} c
		WHERE ?1 = '' OR c.{ckey} > {ckey after} ORDER BY c.{ckey} LIMIT ?2`
	// countsOf is continued by countRows for each table and the condition of a
	// reference: one statement, so that rows and counts are of one instant.
	// A join reads the table at most once if no index fits.
	countsOf  = `SELECT {c key}, {c count}, -1 FROM {contents} c WHERE c.{ckey} IN (SELECT {ckey of id} FROM {ids 1})`
	countRows = ` UNION ALL SELECT {c key}, NULL, count(*) FROM {contents} c JOIN %s r ON %s
		WHERE c.{ckey} IN (SELECT {ckey of id} FROM {ids 1}) GROUP BY c.{ckey}`
	lockCounts = `SELECT {c key} FROM {contents} c
		WHERE c.{ckey} IN (SELECT {ckey of id} FROM {ids 1}) ORDER BY c.{ckey} ` + sqldb.Exclusive
	setCount = `UPDATE {contents} SET {count} = ?2 WHERE {ckey} IN (SELECT {ckey of id} FROM {ids 1})`
)

// Repair is which counts Recount corrects.
type Repair int

// Repairs. A count is lowered only on request: what it counts may be in a table
// without a foreign key, and lose its object.
const (
	RepairNone Repair = iota
	RepairLow         // those that are too low, or no count
	RepairAll
)

// ErrNoCount reports that the contents of the collection have no column of
// counts.
var ErrNoCount = errors.New("the collection's contents have no count")

// Recount compares the counts of up to limit contents after the key with the
// rows that refer to them. It returns those that differ and the key to continue
// at, empty at the end. It corrects counts under a lock on each, so that a row
// that is inserted or removed meanwhile, and counts in the same transaction, is
// counted once. One transaction.
func (c *Collection) Recount(ctx context.Context, after string, limit int, repair Repair) (drifts []Drift, next string, err error) {
	if c.c.Contents == nil || c.c.Contents.Count == "" {
		return nil, "", ErrNoCount
	}
	transact := c.read
	if repair != RepairNone {
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
		if drifts, err = c.drifts(t, keys); err != nil || repair == RepairNone {
			return err
		}
		if len(drifts) > 0 {
			if drifts, err = c.repair(t, drifts, repair); err != nil {
				return err
			}
		}
		if there, err := c.db.engine.has(t, "troubles"); err != nil || !there {
			return err
		}
		return c.mended(t, countWrong, keys)
	})
	if sqldb.TooLong(err) {
		if missing, bad := c.unindexed(ctx); bad == nil && len(missing) > 0 {
			err = fmt.Errorf("no index finds the rows that refer to %s: %s (%w)", c.c.Contents.Table, strings.Join(missing, "; "), err)
		}
	}
	return drifts, next, err
}

// drifts returns those of the contents whose count is wrong.
func (c *Collection) drifts(t *tx, keys []string) ([]Drift, error) {
	counted, err := c.counted(t, keys)
	return slices.DeleteFunc(counted, Drift.right), err
}

// counted returns the contents with their counts and rows. Rows of every table
// that refers to them are counted.
func (c *Collection) counted(t *tx, keys []string) (out []Drift, err error) {
	query := countsOf
	for _, r := range c.references() {
		query += fmt.Sprintf(countRows, r.table, r.names(c.c))
	}
	rows := map[string]int64{}
	_, err = all(t, func(r *sql.Rows) (none struct{}, err error) {
		var content string
		var count sql.NullString
		var n int64
		if err := r.Scan(&content, &count, &n); err != nil {
			return none, err
		}
		if n >= 0 {
			rows[content] += n
			return none, nil
		}
		d, err := c.countOf(content, count)
		out = append(out, d)
		return none, err
	}, query, sqldb.JSON(keys))
	for i := range out {
		out[i].Rows = rows[out[i].Content]
	}
	return out, err
}

// errNoInteger reports a count that is no integer.
var errNoInteger = errors.New("is no integer")

// countOf parses the count of a content.
func (c *Collection) countOf(content string, count sql.NullString) (d Drift, err error) {
	d.Content = content
	if !count.Valid {
		return d, nil
	}
	d.Count.Valid = true
	if d.Count.Int64, err = strconv.ParseInt(count.String, 10, 64); err != nil {
		return d, fmt.Errorf("%s.%s of %q is %q, which %w", c.c.Contents.Table, c.c.Contents.Count, content, count.String, errNoInteger)
	}
	return d, nil
}

// scanCount scans a content and its count.
func (c *Collection) scanCount(r *sql.Rows) (Drift, error) {
	var content string
	var count sql.NullString
	if err := r.Scan(&content, &count); err != nil {
		return Drift{}, err
	}
	return c.countOf(content, count)
}

// High reports whether the count is higher than the number of rows.
func (d Drift) High() bool { return d.Count.Int64 > d.Rows }

// repair corrects counts, after it has locked the contents and counted again.
func (c *Collection) repair(t *tx, drifts []Drift, repair Repair) ([]Drift, error) {
	keys := make([]string, len(drifts))
	for i, d := range drifts {
		keys[i] = d.Content
	}
	if _, err := all(t, text, lockCounts, sqldb.JSON(keys)); err != nil {
		return nil, err
	}
	again, err := c.drifts(t, keys)
	if err != nil {
		return nil, err
	}
	by := map[int64][]string{}
	for _, d := range again {
		if d.High() && repair != RepairAll {
			continue
		}
		by[d.Rows] = append(by[d.Rows], d.Content)
	}
	for n, keys := range by {
		if _, err := t.exec(setCount, sqldb.JSON(keys), n); err != nil {
			return nil, err
		}
	}
	return again, nil
}
