package sqladopt

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// Statements use the placeholders of names.go. ?1 is the instant where rows are
// compared with one. A row with an implausible end stays: it may stand for never.
const (
	due = `{is live} AND {is past} AND {r end} > {earliest end} AND {sound}`

	dueRows = `SELECT {r key}{copies} FROM {rows} r WHERE ` + due + `
		ORDER BY {r end} LIMIT ?2 ` + sqldb.Locked
	// dueFree excludes what holds keep. A join would lose the order.
	dueFree = `SELECT {r key}{copies} FROM {rows} r WHERE ` + due + ` AND ` + free + ` ORDER BY {r end} LIMIT ?2 ` + sqldb.Locked
	dueOnly = `SELECT {r key}{copies} FROM {rows} r WHERE ` + due + ` AND ` + free + `
		AND r.{key} IN (SELECT {key of id} FROM {ids 5}) ORDER BY {r end} LIMIT ?2 ` + sqldb.Locked
	free = `0 = (SELECT count(*) FROM {lethe}holds h WHERE h.collection = ?3 AND h.scope = 2 AND h.key = {r key} {binary}
		AND (h.until_at = 0 OR h.until_at > ?4))`

	stampRows = `UPDATE {rows} SET {claimed}, {initiated} = {as initiated}?1{close initiated}
		WHERE {key} IN (SELECT {key of id} FROM {ids 2})`
	returnRows = `UPDATE {rows} SET {live}, {initiated} = NULL
		WHERE {key} IN (SELECT {key of id} FROM {ids 1})`
	// stuck: a row in progress without a time was not claimed by Lethe, and is stuck as well.
	stuck = `SELECT {r key} FROM {rows} r
		WHERE {is claimed} AND (r.{initiated} <= {as initiated}?1{close initiated} OR r.{initiated} IS NULL) AND {sound}`
	stuckRows = stuck + ` ORDER BY r.{initiated} LIMIT ?2 ` + sqldb.Locked
	// stuckNext passes over some. MariaDB 10.11 finds nothing NOT IN an empty JSON_TABLE.
	stuckNext = stuck + ` AND NOT EXISTS (SELECT 1 FROM {ids 3} WHERE {key of id} = r.{key}) ORDER BY r.{initiated} LIMIT ?2 ` + sqldb.Locked
	stuckOnly = stuck + ` AND r.{key} IN (SELECT {key of id} FROM {ids 2}) ` + sqldb.Locked
	countDue  = `SELECT count(*) FROM (SELECT 1 FROM {rows} r WHERE ` + due + ` LIMIT ?2) AS d`
	oldestDue = `SELECT {micros}min({r end}){close micros} FROM {rows} r WHERE ` + due
)

// end returns the instant up to which rows have expired.
func (c *Collection) end(t *tx) lethe.Time { return c.c.Rows.EndedBy(t.now) }

// Claim implements adopt.Records.
func (c *Collection) Claim(ctx context.Context, limit int) (out adopt.Claim, err error) {
	var rows []adopt.Row
	err = c.relaxed(ctx, "claim rows", func(t *tx) (err error) {
		if rows, _, err = c.due(t, limit); err != nil || len(rows) == 0 {
			out = adopt.Claim{}
			return err
		}
		counted, err := c.countedOnClaim(t, rows)
		if err != nil {
			return err
		}
		out = adopt.Claim{At: t.now, Rows: rows}
		switch n, err := t.exec(stampRows, out.At, keysOf(rows)); {
		case err != nil:
			return err
		case n != int64(len(rows)):
			return c.unstamped(t, rows)
		}
		return c.unmoved(t, counted)
	})
	return out, objected(rows, err)
}

// errNotFound reports that keys do not find the rows that have them. Nothing was done.
var errNotFound = errors.New("its key does not find it: the character set of its column may have another key for that text (make it utf8mb4), " +
	"or a trigger removes it before it is changed")

// unstamped returns why rows were not stamped.
func (c *Collection) unstamped(t *tx, rows []adopt.Row) error {
	var found int
	err := t.row(remaining, keysOf(rows)).Scan(&found)
	if err == nil && found < len(rows) {
		return errNotFound
	}
	return cmp.Or(err, errKept)
}

// due locks up to limit rows that have expired and are not held.
func (c *Collection) due(t *tx, limit int) (rows []adopt.Row, h holding, err error) {
	if h, err = c.removing(t); err != nil {
		return nil, h, err
	}
	wide, err := h.wide()
	switch {
	case err != nil || wide.All() != nil || h.allBelow():
	case c.only != "":
		rows, err = all(t, c.row, dueOnly, c.end(t), limit, c.name, t.now, c.only)
	case h.n == 0:
		rows, err = all(t, c.row, dueRows, c.end(t), limit)
	default:
		rows, err = all(t, c.row, dueFree, c.end(t), limit, c.name, t.now)
	}
	return rows, h, err
}

// row scans a row's key and the keys of its copies.
func (c *Collection) row(r *sql.Rows) (out adopt.Row, err error) {
	out.Copies, err = c.scanCopies(r, &out.Key)
	return out, cmp.Or(err, listable(out.Key))
}

// scanCopies scans columns, and then the keys of a row's copies.
func (c *Collection) scanCopies(r *sql.Rows, columns ...any) (copies []string, err error) {
	keys := make([]sql.NullString, len(c.c.Cache))
	for i := range keys {
		columns = append(columns, &keys[i])
	}
	err = r.Scan(columns...)
	for _, k := range keys {
		if k.Valid {
			copies = append(copies, k.String)
		}
	}
	return copies, err
}

func keysOf(rows []adopt.Row) string {
	keys := make([]string, len(rows))
	for i, r := range rows {
		keys[i] = r.Key
	}
	return sqldb.JSON(keys)
}

// Release implements adopt.Records.
func (c *Collection) Release(ctx context.Context, claim adopt.Claim) (int, error) {
	n, _, err := givenBack(claim.Rows, func(rows []adopt.Row) (n int, err error) {
		err = c.relaxed(ctx, "release rows", func(t *tx) error {
			have, err := c.claimed(t, adopt.Claim{At: claim.At, Rows: rows})
			if err != nil {
				return err
			}
			var keys []string
			for _, h := range have {
				keys = append(keys, h.key)
			}
			n = len(keys)
			return c.giveBack(t, keys)
		})
		return n, objected(rows, err)
	})
	return n, err
}

// givenBack gives rows back, by halves where the database objects to some, so that those go
// which it lets go. It returns the others; the error is about the first of them, and a refusal
// of that row.
func givenBack(rows []adopt.Row, do func([]adopt.Row) (int, error)) (n int, kept []adopt.Row, err error) {
	n, err = do(rows)
	var refused *adopt.Refusal
	switch {
	case !errors.As(err, &refused):
		return n, nil, err
	case len(rows) == 1:
		return 0, rows, fmt.Errorf("row %s stays in progress: %w", adopt.Brief(rows[0].Key), err)
	}
	n, err = 0, nil
	for half := range slices.Chunk(rows, (len(rows)+1)/2) {
		more, others, first := givenBack(half, do)
		n, kept, err = n+more, append(kept, others...), cmp.Or(err, first)
		if first != nil && !errors.As(first, &refused) {
			return n, kept, first
		}
	}
	return n, kept, err
}

// giveBack makes locked rows live again. It fails with errKept if some did not change.
func (c *Collection) giveBack(t *tx, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	n, err := t.exec(returnRows, sqldb.JSON(keys))
	if err == nil && n != int64(len(keys)) {
		err = errKept
	}
	return err
}

// maxKept bounds the rows that Recover passes over, to find those behind them.
const maxKept = 3_000

// Recover implements adopt.Records.
func (c *Collection) Recover(ctx context.Context, age time.Duration, limit int) (n int, first error) {
	stuck, err := c.recovered(ctx, age, stuckRows, limit)
	for kept := []adopt.Row(nil); ; stuck, err = c.recovered(ctx, age, stuckNext, limit, keysOf(kept)) {
		more, others := len(stuck), []adopt.Row(nil)
		if errors.As(err, new(*adopt.Refusal)) {
			more, others, err = givenBack(stuck, func(rows []adopt.Row) (int, error) {
				live, err := c.recovered(ctx, age, stuckOnly, keysOf(rows))
				return len(live), err
			})
		}
		if err != nil && !errors.As(err, new(*adopt.Refusal)) {
			return n, err
		}
		n, first, kept = n+more, cmp.Or(first, err), append(kept, others...)
		if first == nil || len(stuck) < limit || len(kept) >= maxKept {
			return n, first
		}
	}
}

// recovered makes the rows live again that a query locks, and returns them, also with an
// error.
func (c *Collection) recovered(ctx context.Context, age time.Duration, query string, which ...any) (rows []adopt.Row, err error) {
	err = c.relaxed(ctx, "recover rows", func(t *tx) error {
		rows = nil
		keys, err := all(t, text, query, append([]any{t.now.Add(-age)}, which...)...)
		if err != nil {
			return err
		}
		for _, key := range keys {
			rows = append(rows, adopt.Row{Key: key})
		}
		return c.giveBack(t, keys)
	})
	return rows, objected(rows, err)
}

// Due implements adopt.Records.
func (c *Collection) Due(ctx context.Context) (out adopt.Backlog, err error) {
	err = c.read(ctx, "count due rows", func(t *tx) error {
		out = adopt.Backlog{}
		if err := t.row(countDue, c.end(t), adopt.MaxCounted).Scan(&out.Due); err != nil || out.Due == 0 {
			return err
		}
		return t.row(oldestDue, c.end(t)).Scan(&out.Oldest)
	})
	return out, err
}
