package sqladopt

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

const (
	dueAgain  = `SELECT id, "keys" FROM {lethe}cache_due WHERE collection = ?1 AND due_at <= ?2 ORDER BY due_at LIMIT ?3`
	nextAgain = `SELECT coalesce(min(due_at), 0), coalesce(max(due_at), 0) FROM {lethe}cache_due WHERE collection = ?1`
	endAgain  = `DELETE FROM {lethe}cache_due WHERE id IN (SELECT {number of id} FROM {ids 1})`
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

// NextCopies returns when copies are to be dropped next, and last, and the
// time; 0 if none are left.
func (c *Collection) NextCopies(ctx context.Context) (next, last, now lethe.Time, err error) {
	err = c.read(ctx, "look for copies", func(t *tx) error {
		now = t.now
		return t.row(nextAgain, c.name).Scan(&next, &last)
	})
	return next, last, now, err
}

// Dropped implements adopt.Cached.
func (c *Collection) Dropped(ctx context.Context, ids []int64) error {
	return c.write(ctx, "end copies", func(t *tx) error {
		_, err := t.exec(endAgain, sqldb.JSON(ids))
		return err
	})
}
