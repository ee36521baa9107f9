package sqlledger

import (
	"context"
	"database/sql"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

// Rows are compared as rows. Otherwise the planner, if it knows little about a bucket,
// searches the due times of all buckets.
var (
	bucketsAfter = register(`SELECT id FROM buckets WHERE id > ?1 ORDER BY id LIMIT ?2`)
	bucketsDue   = register(`SELECT t.id, (SELECT o.due_at FROM objects o
			WHERE o.due_at IS NOT NULL AND length(o.bucket_id) >= 0
				AND (o.bucket_id, o.due_at) >= (t.id, t.past) AND (o.bucket_id, o.due_at) <= (t.id, ?2)
			ORDER BY o.bucket_id, o.due_at LIMIT 1)
		FROM ` + sqldb.Rows(1, "id text", "past bigint"))
	bucketsCondemned = register(`SELECT t.id, (SELECT b.due_at FROM blobs b
			WHERE b.state = 3 AND b.fence = 0 AND length(b.bucket_id) >= 0
				AND (b.bucket_id, b.backend, b.due_at) >= (t.id, ?3, t.past) AND (b.bucket_id, b.backend, b.due_at) <= (t.id, ?3, ?2)
			ORDER BY b.bucket_id, b.backend, b.due_at LIMIT 1)
		FROM ` + sqldb.Rows(1, "id text", "past bigint"))
	turnObjects = register(`SELECT bucket_id, key, due_at, content_id, rule_no, ttl_at, idle_at, ` + bodyNumber + ` FROM objects
		WHERE due_at IS NOT NULL AND length(bucket_id) >= 0
			AND (bucket_id, due_at) >= (?1, ?2) AND (bucket_id, due_at) <= (?1, ?3)
		ORDER BY bucket_id, due_at LIMIT ?4 ` + sqldb.Locked)
	claimTurn = register(`WITH due AS MATERIALIZED (
			SELECT id FROM blobs
			WHERE state = 3 AND fence = 0 AND length(bucket_id) >= 0 AND (?8 = 0 OR late_until = 0)
				AND (bucket_id, backend, due_at) >= (?7, ?1, ?2) AND (bucket_id, backend, due_at) <= (?7, ?1, ?3)
			ORDER BY bucket_id, backend, due_at LIMIT ?4 ` + sqldb.Locked + `)
		UPDATE blobs SET worker = ?5, fence = ?6, claimed_at = ?3 FROM due
		WHERE blobs.id = due.id RETURNING ` + qualified("blobs", blobColumns))
)

// turnRow is a bucket to look at.
type turnRow struct {
	ID   lethe.ID   `json:"id"`
	Past lethe.Time `json:"past"`
}

// DueBuckets looks at a stretch of the buckets, and returns those that have due rows; of
// blobs, unclaimed ones. It costs one index lookup per bucket, however much is due. Blobs
// whose bucket is not known come first, as a bucket of their own.
func (db *DB) DueBuckets(ctx context.Context, q ledger.TurnQuery) (out ledger.Turns, err error) {
	err = db.walk(ctx, "buckets with work", func(t *tx) error {
		ids, err := all(t, sqldb.One[lethe.ID], bucketsAfter, q.From, bounded(q.Limit))
		if err != nil {
			return err
		}
		out = ledger.Turns{Last: q.From, End: q.Limit <= 0 || len(ids) < q.Limit}
		var look []turnRow
		if q.From == "" && q.Backend != "" {
			look = append(look, turnRow{Past: q.After[""]})
		}
		for _, id := range ids {
			out.Last = id
			look = append(look, turnRow{id, q.After[id]})
		}
		out.Due, err = t.dueOf(q.Backend, look)
		return err
	})
	return out, err
}

// dueOf returns the buckets that have due rows.
func (t *tx) dueOf(backend string, look []turnRow) (due []ledger.Turn, err error) {
	if len(look) == 0 {
		return nil, nil
	}
	text, args := bucketsDue, []any{sqldb.JSON(look), t.Now}
	if backend != "" {
		text, args = bucketsCondemned, append(args, backend)
	}
	_, err = all(t, func(r *sql.Rows) (none struct{}, err error) {
		var id lethe.ID
		var at sql.NullInt64
		if err = r.Scan(&id, &at); err == nil && at.Valid {
			due = append(due, ledger.Turn{Bucket: id, After: lethe.Time(at.Int64)})
		}
		return none, err
	}, text, args...)
	return due, err
}

// objectsByTurns returns due objects, some of each bucket.
func (t *tx) objectsByTurns(b ledger.Batch) ([]dueRow, error) {
	return ledger.TakeTurns(b.Turns, b.Limit, func(turn ledger.Turn, n int) ([]dueRow, error) {
		return all(t, t.scanDueObject, turnObjects, turn.Bucket, turn.After, t.Now, bounded(n))
	})
}

// claimByTurns claims condemned blobs, some of each bucket.
func (t *tx) claimByTurns(r ledger.ClaimRequest, fence, limit int64, doubt bool) ([]ledger.Blob, error) {
	return ledger.TakeTurns(r.Turns, int(limit), func(turn ledger.Turn, n int) ([]ledger.Blob, error) {
		return all(t, scanBlob, claimTurn, r.Backend, turn.After, t.Now, bounded(n), r.Worker, fence, turn.Bucket, flag(doubt))
	})
}
