package sqladopt

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

var _ adopt.Taker = (*Collection)(nil)

// contentsOf reads which contents the locked rows name, whether they are due, and their copies.
const contentsOf = `SELECT {r key}, {content}, CASE WHEN ` + due + ` THEN 1 ELSE 0 END{copies} FROM {rows} r
	WHERE r.{key} IN (SELECT {key of id} FROM {ids 2})`

func (c *Collection) scanNaming(r *sql.Rows) (h claimed, err error) {
	var content sql.NullString
	h.copies, err = c.scanCopies(r, &h.key, &content, &h.expired)
	h.content = content.String
	return h, cmp.Or(err, h.listed())
}

// Take implements adopt.Taker.
func (c *Collection) Take(ctx context.Context, limit int, again time.Duration) (out adopt.Settled, err error) {
	var due []adopt.Row
	err = c.write(ctx, "take rows", func(t *tx) (err error) {
		out = adopt.Settled{}
		var h holding
		due, h, err = c.due(t, limit)
		if err != nil || len(due) == 0 {
			return err
		}
		rows, err := all(t, c.scanNaming, contentsOf, c.end(t), keysOf(due))
		if err != nil {
			return err
		}
		if len(rows) != len(due) || slices.ContainsFunc(rows, func(r claimed) bool { return !r.expired }) {
			return errNotFound
		}
		out.Gone = len(rows)
		return c.remove(t, removal{rows: rows, again: again, holds: h}, &out)
	})
	return out, objected(due, err)
}
