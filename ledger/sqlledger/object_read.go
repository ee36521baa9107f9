package sqlledger

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// countRead takes one of the reads that are left, and with the last one ends the object.
var countRead = register(`UPDATE objects SET
		reads_left = CASE WHEN reads_left = 1 THEN -1 ELSE reads_left - 1 END,
		ttl_at = CASE WHEN reads_left = 1 THEN ?4 ELSE ttl_at END,
		due_at = CASE WHEN reads_left > 1 THEN due_at WHEN rule_at <> 0 AND rule_at < ?4 THEN rule_at ELSE ?4 END
	WHERE bucket_id = ?1 AND key = ?2 AND id = ?3 AND reads_left > 0 AND ` + visibleAt(``, `?4`) + `
	RETURNING reads_left, ttl_at`)

// CountRead takes one of the reads that an object has left, and returns it with its ReadsLeft
// and TTLAt of then: ErrInvalidKey; ErrNoSuchKey unless the same version is visible and has
// one. The last read ends it.
func (db *DB) CountRead(ctx context.Context, o ledger.Object) (out ledger.Object, err error) {
	if err := ledger.CheckKey(o.Key); err != nil {
		return out, err
	}
	err = db.write(ctx, "count a read of "+o.Bucket+"/"+o.Key, func(t *tx) error {
		out = o
		found, err := all(t, func(r *sql.Rows) (none struct{}, err error) {
			return none, r.Scan(&out.ReadsLeft, &out.TTLAt)
		}, countRead, o.BucketID, o.Key, o.ID, t.Now)
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("version %s of %s/%s has no read left: %w", o.ID, o.Bucket, o.Key, lethe.ErrNoSuchKey)
		}
		return err
	})
	return out, err
}
