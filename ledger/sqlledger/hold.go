package sqlledger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

var (
	insertHold = register(`INSERT INTO holds (bucket_id, scope, key, reason, set_by, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
		ON CONFLICT (bucket_id, scope, key) DO NOTHING`)
	selectHold = register(`SELECT ?4, scope, key, reason, set_by, created_at FROM holds WHERE bucket_id = ?1 AND scope = ?2 AND key = ?3`)
	deleteHold = register(`DELETE FROM holds WHERE bucket_id = ?1 AND scope = ?2 AND key = ?3`)
	countHolds = register(`UPDATE buckets SET holds = holds + ?2 WHERE id = ?1`)
	manyHolds  = register(`SELECT count(*) FROM holds WHERE bucket_id = ?1 AND scope = ?2`)
	pageHolds  = register(`SELECT b.name, h.scope, h.key, h.reason, h.set_by, h.created_at
		FROM holds h JOIN buckets b ON b.id = h.bucket_id
		WHERE b.name IS NOT NULL AND (?1 = '' OR b.name = ?1) AND (b.name, h.scope, h.key) > (?2, ?3, ?4)
		ORDER BY b.name, h.scope, h.key LIMIT ?5`)
	// CROSS JOIN makes SQLite read the parameter first, and then look each key up.
	heldKeys = register(`SELECT t.bucket_id, t.key, h.scope, h.key, h.reason
		FROM ` + sqldb.Rows(1, "bucket_id text", "key text") + ` CROSS JOIN holds h
		WHERE h.bucket_id = t.bucket_id AND h.scope IN (1, 3) AND h.key = t.key
		UNION ALL SELECT t.bucket_id, t.key, h.scope, h.key, h.reason
		FROM ` + sqldb.Rows(1, "bucket_id text", "key text") + ` CROSS JOIN holds h
		WHERE h.bucket_id = t.bucket_id AND h.scope = 2 AND substr(t.key, 1, length(h.key)) = h.key`)
)

// AddHold sets a hold: ErrNoSuchBucket, ErrInvalidKey. If it is set already it returns the
// existing one. It locks the bucket alone, so that a delete there has ended before, or sees
// the hold (docs/protocol.md, rule 21).
func (db *DB) AddHold(ctx context.Context, h ledger.Hold) (out ledger.Hold, err error) {
	err = db.write(ctx, "hold "+h.Bucket+"/"+h.Key, func(t *tx) error {
		if err := h.Check(); err != nil {
			return err
		}
		b, err := t.lockBucketMeant(h.Bucket, h.Into)
		if err != nil {
			return err
		}
		out, err = t.addHold(b, h)
		return err
	})
	return out, err
}

func (t *tx) addHold(b ledger.Bucket, h ledger.Hold) (ledger.Hold, error) {
	if h.Scope == ledger.HoldPrefix {
		var n int64
		if err := t.Row(manyHolds, b.ID, h.Scope).Scan(&n); err != nil {
			return h, t.Failed(err)
		}
		if n >= ledger.MaxPrefixHolds {
			return h, fmt.Errorf("bucket %s has %d holds on prefixes, the maximum: release some, or hold a shorter prefix", b.Name, n)
		}
	}
	n, err := t.Exec(insertHold, b.ID, h.Scope, h.Key, cleanText(h.Reason), cleanText(h.By), t.Now)
	if err == nil && n > 0 {
		_, err = t.Send(countHolds, b.ID, n)
	}
	if err != nil {
		return h, err
	}
	found, err := all(t, scanHold, selectHold, b.ID, h.Scope, h.Key, b.Name)
	if err != nil || len(found) == 0 {
		return h, cmp.Or(err, lethe.ErrCorrupt)
	}
	return found[0], nil
}

// ReleaseHold releases a hold: ErrNoSuchBucket, ErrNoSuchHold. ReturnDeferred then returns the
// rows that no other hold keeps.
func (db *DB) ReleaseHold(ctx context.Context, h ledger.Hold) error {
	return db.write(ctx, "release the hold on s3://"+h.Bucket+"/"+h.Key, func(t *tx) error {
		b, err := t.lockBucketMeant(h.Bucket, h.Into)
		if err != nil {
			return err
		}
		if h.Check() != nil {
			return ledger.ErrNoSuchHold // an invalid hold cannot exist, and PostgreSQL cannot store some keys
		}
		if err := t.Must(1, ledger.ErrNoSuchHold, deleteHold, b.ID, h.Scope, h.Key); err != nil {
			return err
		}
		if _, err := t.Send(countHolds, b.ID, -1); err != nil {
			return err
		}
		if _, err := t.Send(keepAnew, b.ID); err != nil {
			return err
		}
		return t.releaseDeferred(b.ID, h.Key)
	})
}

// Holds lists holds.
func (db *DB) Holds(ctx context.Context, q ledger.HoldQuery) (list []ledger.Hold, err error) {
	err = db.read(ctx, "holds", func(t *tx) error {
		list, err = all(t, scanHold, pageHolds, q.Bucket, q.After.Bucket, q.After.Scope, q.After.Key, bounded(q.Limit))
		return err
	})
	return list, err
}

// HoldsOn lists the holds that cover a key: ErrNoSuchBucket.
func (db *DB) HoldsOn(ctx context.Context, bucket, key string) (list []ledger.Hold, err error) {
	err = db.read(ctx, "holds on "+bucket+"/"+key, func(t *tx) error {
		list = nil
		b, err := t.bucket(bucket)
		if err != nil || b.Holds == 0 {
			return err
		}
		_, err = all(t, func(r *sql.Rows) (none struct{}, err error) {
			var id, k string
			h := ledger.Hold{Bucket: bucket}
			err = r.Scan(&id, &k, &h.Scope, &h.Key, &h.Reason)
			list = append(list, h)
			return none, err
		}, heldKeys, sqldb.JSON([]dueRow{{Bucket: b.ID, Key: key}}))
		return err
	})
	return list, err
}

// HeldKeys returns which of the keys of a bucket are held: ErrNoSuchBucket.
func (db *DB) HeldKeys(ctx context.Context, bucket string, keys []string) (held map[string]bool, err error) {
	err = db.read(ctx, "held keys of "+bucket, func(t *tx) error {
		held = map[string]bool{}
		b, err := t.bucket(bucket)
		if err != nil || b.Holds == 0 {
			return err
		}
		list := make([]dueRow, len(keys))
		for i, k := range keys {
			list[i] = dueRow{Bucket: b.ID, Key: k}
		}
		by, err := t.heldBy(list)
		for at := range by {
			held[at.key] = true
		}
		return err
	})
	return held, err
}

func scanHold(r *sql.Rows) (h ledger.Hold, err error) {
	err = r.Scan(&h.Bucket, &h.Scope, &h.Key, &h.Reason, &h.By, &h.At)
	return h, err
}

// spot is a key of a bucket.
type spot struct {
	bucket lethe.ID
	key    string
}

// heldBy returns which of the rows are held, and by what. Their buckets are locked.
func (t *tx) heldBy(list []dueRow) (map[spot]ledger.Hold, error) {
	if len(list) == 0 {
		return nil, nil
	}
	held := map[spot]ledger.Hold{}
	_, err := all(t, func(r *sql.Rows) (none struct{}, err error) {
		var at spot
		var h ledger.Hold
		if err = r.Scan(&at.bucket, &at.key, &h.Scope, &h.Key, &h.Reason); err == nil {
			held[at] = h
		}
		return none, err
	}, heldKeys, sqldb.JSON(list))
	return held, err
}

// refuseHeld returns ErrHeld if the key is held. The bucket is locked, so that this does not
// change (docs/protocol.md, rule 21).
func (t *tx) refuseHeld(b ledger.Bucket, key string) error {
	if b.Holds == 0 {
		return nil
	}
	held, err := t.heldBy([]dueRow{{Bucket: b.ID, Key: key}})
	if err != nil || len(held) == 0 {
		return err
	}
	return held[spot{b.ID, key}].Refusal(key)
}
