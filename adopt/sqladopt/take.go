package sqladopt

import (
	"context"
	"database/sql"
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

var _ adopt.Taker = (*Collection)(nil)

// contentsOf reads which contents rows name that are locked.
const contentsOf = `SELECT CAST(r.{key} AS TEXT), {content} FROM {rows} r
	WHERE r.{key} IN (SELECT CAST(id AS {key type}) FROM {ids 1})`

// Take implements adopt.Taker.
func (c *Collection) Take(ctx context.Context, limit int, again time.Duration) (out adopt.Settled, err error) {
	err = c.write(ctx, "take rows", func(t *tx) error {
		out = adopt.Settled{}
		due, err := all(t, c.row, dueRows, c.end(t), limit)
		if err != nil || len(due) == 0 {
			return err
		}
		rows, err := all(t, func(r *sql.Rows) (h held, err error) {
			var content sql.NullString
			err = r.Scan(&h.key, &content)
			h.content = content.String
			return h, err
		}, contentsOf, keysOf(due))
		if err != nil {
			return err
		}
		out.Gone = len(rows)
		// The copies were not dropped yet: at once, and again.
		r := removal{adopt.Claim{At: t.now, Rows: due}, rows, 0}
		if err := c.remove(t, r, &out); err != nil || again == 0 {
			return err
		}
		return c.dropLater(t, due, again)
	})
	return out, err
}

// dropLater writes copies of rows down to be dropped after a time.
func (c *Collection) dropLater(t *tx, rows []adopt.Row, after time.Duration) error {
	var copies []string
	for _, r := range rows {
		copies = append(copies, r.Copies...)
	}
	if len(copies) == 0 {
		return nil
	}
	_, err := t.exec(insertAgain, c.name, t.now.Add(after), asJSON(copies))
	return err
}
