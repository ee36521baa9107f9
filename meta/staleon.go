package meta

import (
	"context"
	"time"
)

// StaleRequest asks for uploads that were left lying on a backend.
type StaleRequest struct {
	Backend string
	Age     time.Duration
	Limit   int
}

var staleUploadsOn = register(`SELECT ` + uploadColumns + uploadTables + `WHERE u.touched_at <= ?1
	AND EXISTS (SELECT 1 FROM parts p JOIN blobs l ON l.id = p.blob_id WHERE p.upload_id = u.id AND l.backend = ?2)
	ORDER BY u.touched_at, u.id LIMIT ?3`)

// StaleUploadsOn lists uploads with a part on the backend that nobody has touched for
// the age, the longest first. It reads all that nobody has touched for so long.
func (db *DB) StaleUploadsOn(ctx context.Context, r StaleRequest) (list []Upload, err error) {
	err = db.read(ctx, "stale uploads on "+r.Backend, func(t *tx) error {
		list, err = all(t, scanUpload, staleUploadsOn, t.now.Add(-r.Age), r.Backend, bounded(r.Limit))
		return err
	})
	return list, err
}
