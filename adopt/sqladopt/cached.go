package sqladopt

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

const (
	dueAgain = `SELECT id, "keys" FROM {lethe}cache_due WHERE collection = ?1 AND due_at <= ?2 ORDER BY due_at LIMIT ?3`
	endAgain = `DELETE FROM {lethe}cache_due WHERE id IN (SELECT {number of id} FROM {ids 1})`
)

// DropAgain implements adopt.Cached. It claims nothing: dropping a copy twice
// is harmless.
func (c *Collection) DropAgain(ctx context.Context, limit int) (out []adopt.Again, err error) {
	err = c.read(ctx, "list copies", func(t *tx) error {
		out, err = all(t, func(r *sql.Rows) (a adopt.Again, err error) {
			var keys string
			if err := r.Scan(&a.ID, &keys); err != nil {
				return a, err
			}
			return a, json.Unmarshal([]byte(keys), &a.Keys)
		}, dueAgain, c.name, t.now, limit)
		return err
	})
	return out, err
}

// Dropped implements adopt.Cached.
func (c *Collection) Dropped(ctx context.Context, ids []int64) error {
	return c.write(ctx, "end copies", func(t *tx) error {
		_, err := t.exec(endAgain, sqldb.JSON(ids))
		return err
	})
}
