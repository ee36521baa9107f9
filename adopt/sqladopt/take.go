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

// contentsOf reads which contents rows name that are locked.
const contentsOf = `SELECT {r key}, {content} FROM {rows} r
	WHERE r.{key} IN (SELECT {key of id} FROM {ids 1})`

func scanNaming(r *sql.Rows) (c claimed, err error) {
	var content sql.NullString
	err = r.Scan(&c.key, &content)
	c.content = content.String
	return c, cmp.Or(err, listable(c.content))
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
		rows, err := all(t, scanNaming, contentsOf, keysOf(due))
		if err != nil {
			return err
		}
		out.Gone = len(rows)
		// The copies were not dropped yet: at once, and again.
		return c.remove(t, removal{adopt.Claim{At: t.now, Rows: due}, rows, slices.Compact([]time.Duration{0, again})}, &out)
	})
	return out, objected(due, err)
}
