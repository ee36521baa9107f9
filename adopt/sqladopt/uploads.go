package sqladopt

import (
	"context"
	"database/sql"

	"github.com/lethe-storage/lethe/adopt"
)

const (
	insertUpload = `INSERT INTO {lethe}uploads (collection, "key", fence, name, id, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`
	staleUploads = `SELECT u."key", u.fence, u.name, u.id FROM {lethe}uploads u
		WHERE u.collection = ?1 AND (u."key" > ?2 OR u."key" = ?2 AND u.fence > ?3)
			AND NOT EXISTS (SELECT 1 FROM {lethe}quarantined q WHERE q.collection = u.collection AND q."key" = u."key" AND q.fence = u.fence AND q.due_at > ?4)
		ORDER BY u."key", u.fence LIMIT ?5`
	endUpload = `DELETE FROM {lethe}uploads WHERE collection = ?1 AND "key" = ?2 AND fence = ?3`
)

// Uploading implements adopt.QuarantineUploads.
func (q *Quarantine) Uploading(ctx context.Context, u adopt.Upload) (ours bool, err error) {
	err = q.write(ctx, "record an upload", func(t *tx) error {
		known, err := q.records(t, []string{u.Key})
		if err != nil {
			return err
		}
		o := known[u.Key]
		if ours = o.fence == u.Fence && o.due > t.now; !ours {
			return nil
		}
		_, err = t.exec(insertUpload, q.name, u.Key, u.Fence, u.Name, u.ID, t.now)
		return err
	})
	return ours, err
}

// Unfinished implements adopt.QuarantineUploads.
func (q *Quarantine) Unfinished(ctx context.Context, after adopt.Upload, limit int) (out []adopt.Upload, err error) {
	err = q.read(ctx, "look for unfinished uploads", func(t *tx) error {
		out, err = all(t, func(r *sql.Rows) (u adopt.Upload, err error) {
			err = r.Scan(&u.Key, &u.Fence, &u.Name, &u.ID)
			return u, err
		}, staleUploads, q.name, after.Key, after.Fence, t.now, limit)
		return err
	})
	return out, err
}

// Aborted implements adopt.QuarantineUploads.
func (q *Quarantine) Aborted(ctx context.Context, u adopt.Upload) error {
	return q.write(ctx, "forget an upload", func(t *tx) error {
		_, err := t.exec(endUpload, q.name, u.Key, u.Fence)
		return err
	})
}
