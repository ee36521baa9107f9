package sqladopt

import (
	"cmp"
	"context"
	"database/sql"
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

var _ adopt.Taker = (*Collection)(nil)

// contentsOf reads which contents the locked rows name, and their copies.
const contentsOf = `SELECT {r key}, {content}{copies} FROM {rows} r
	WHERE r.{key} IN (SELECT {key of id} FROM {ids 1})`

func (c *Collection) scanNaming(r *sql.Rows) (h claimed, err error) {
	var content sql.NullString
	h.copies, err = c.scanCopies(r, &h.key, &content)
	h.content = content.String
	return h, cmp.Or(err, listable(h.content))
}

// Take implements adopt.Taker.
func (c *Collection) Take(ctx context.Context, limit int, again time.Duration) (out adopt.Settled, err error) {
	var due []adopt.Row
	err = c.write(ctx, "take rows", func(t *tx) (err error) {
		out = adopt.Settled{}
		due, err = c.due(t, limit)
		if err != nil || len(due) == 0 {
			return err
		}
		rows, err := all(t, c.scanNaming, contentsOf, keysOf(due))
		if err != nil {
			return err
		}
		out.Gone = len(rows)
		return c.remove(t, removal{rows: rows, again: again}, &out)
	})
	return out, objected(due, err)
}
