package sqlledger

import (
	"cmp"
	"context"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

var (
	insertUpload = register(`INSERT INTO uploads (id, bucket_id, key, owner, attrs, tags, ttl, ttl_at, created_at, touched_at, reads, idle)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?10, ?11)`)
	touchUpload = register(`UPDATE uploads SET touched_at = ?2 WHERE id = ?1`)
	takePart    = register(`DELETE FROM parts WHERE upload_id = ?1 AND number = ?2 RETURNING coalesce(blob_id, '')`)
	insertPart  = register(`INSERT INTO parts (` + partColumns + `) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`)
	storePart   = register(`UPDATE blobs SET state = 2, size = ?2, digest = ?3, upload_id = ?4, part = ?5, late_until = ?6, crc32c = ?7, block = ?8
		WHERE id = ?1 AND state = 1 AND fence = 0`)
	partBlobs      = register(`SELECT blob_id FROM parts WHERE upload_id = ?1 AND blob_id IS NOT NULL ORDER BY number`)
	condemnIntents = register(setCondemned + `reason = ?2, died_at = ?3, due_at = ?4,
			late_until = CASE WHEN late_until < ?4 THEN ?4 ELSE late_until END
		WHERE upload_id = ?1 AND state = 1 RETURNING id, backend, size, reason`)
	deleteParts  = register(`DELETE FROM parts WHERE upload_id = ?1`)
	deleteUpload = register(`DELETE FROM uploads WHERE id = ?1`)
)

// CreateUpload opens a multipart upload: ErrNoSuchBucket, ErrInvalidKey,
// ErrInvalidTTL, ErrInvalidReads. An empty ID gets a new one.
func (db *DB) CreateUpload(ctx context.Context, u ledger.Upload) (ledger.Upload, error) {
	asked := u
	err := db.write(ctx, "create upload to "+u.Bucket+"/"+u.Key, func(t *tx) (err error) {
		u, err = t.createUpload(asked)
		return err
	})
	return u, err
}

func (t *tx) createUpload(u ledger.Upload) (ledger.Upload, error) {
	if err := cmp.Or(t.NeedsRoom(), ledger.CheckKey(u.Key), ledger.CheckReads(u.Reads)); err != nil {
		return u, err
	}
	b, err := t.bucket(u.Bucket)
	if err != nil {
		return u, err
	}
	if err := ledger.CheckBucketID(u.Bucket, b.ID, u.BucketID); err != nil {
		return u, err
	}
	if _, err := b.EndOf(t.Now, ledger.TTLChange{TTL: u.TTL, At: u.TTLAt, ByKey: u.ByKey}, b.DefaultTTL); err != nil {
		return u, err
	}
	if _, err := b.EndsIdle(u.Idle, b.DefaultIdle); err != nil {
		return u, err
	}
	if u.ID == "" {
		u.ID = lethe.NewID(t.Now, t.Random)
	}
	u.BucketID, u.CreatedAt, u.TouchedAt, u.ByKey = b.ID, t.Now, t.Now, ledger.KeyTTL{}
	_, err = t.Send(insertUpload, u.ID, u.BucketID, u.Key, u.Owner, sqldb.JSON(u.Attrs), encodeTags(u.Tags),
		micros(u.TTL), u.TTLAt, t.Now, u.Reads, micros(u.Idle))
	return u, err
}

// CommitPart makes an uploaded blob the part of its number, and replaces the part that had
// it: ErrNoSuchUpload, ErrReaped. A part of zero bytes has no blob.
func (db *DB) CommitPart(ctx context.Context, c ledger.PartCommit) (ledger.Part, error) {
	p := c.Part
	err := db.write(ctx, fmt.Sprintf("commit part %d of upload %s", p.Number, p.UploadID), func(t *tx) error {
		p.CreatedAt = t.Now
		return t.commitPart(p, c)
	})
	return p, err
}

func (t *tx) commitPart(p ledger.Part, c ledger.PartCommit) error {
	if err := t.Must(1, lethe.ErrNoSuchUpload, touchUpload, p.UploadID, t.Now); err != nil {
		return err
	}
	if err := t.recordOnce(c.Op, "part", p.BlobID); err != nil {
		return err
	}
	if err := t.freePart(p.UploadID, p.Number); err != nil {
		return err
	}
	if p.BlobID != "" {
		if err := t.storePart(p, c); err != nil {
			return err
		}
	}
	_, err := t.Send(insertPart, p.UploadID, p.Number, null(p.BlobID), p.Size, p.ETag, p.Digest, encodeTags(p.Checksums), p.CreatedAt)
	return err
}

// freePart removes the part that has the number, if any, and condemns its blob.
func (t *tx) freePart(upload lethe.ID, number int) error {
	old, err := all(t, sqldb.One[lethe.ID], takePart, upload, number)
	if err != nil || len(old) == 0 || old[0] == "" {
		return err
	}
	return t.condemnParts(old)
}

// condemnParts condemns stored parts that were replaced, aborted or left out.
func (t *tx) condemnParts(blobs []lethe.ID) error {
	return t.condemnOwned(blobs, lethe.ReasonPart)
}

// condemnOwned condemns blobs that an upload owns; all of them must be live.
func (t *tx) condemnOwned(blobs []lethe.ID, why lethe.Reason) error {
	c, err := t.condemn(blobs, lethe.Live, 0, death{reason: why, at: t.Now})
	if err == nil && c.blobs != len(blobs) {
		err = fmt.Errorf("%d of %d stored parts are live: %w", c.blobs, len(blobs), lethe.ErrCorrupt)
	}
	return err
}

// storePart makes a pending blob a live one that the upload owns: ErrReaped, ErrNoRoom.
func (t *tx) storePart(p ledger.Part, c ledger.PartCommit) error {
	if err := t.forgetPromotions([]lethe.ID{p.BlobID}); err != nil {
		return err
	}
	backend, reserved, err := t.pending(p.BlobID, 0)
	if err = cmp.Or(err, c.Blocks.Check(p.Size)); err != nil {
		return err
	}
	until := lethe.Time(0)
	if c.Late {
		until = t.Now.Add(t.db.o.LateWindow)
	}
	if err := t.Must(1, lethe.ErrReaped, storePart, p.BlobID, p.Size, p.Digest, p.UploadID, p.Number, until, c.CRC32C, c.Blocks.Size); err != nil {
		return err
	}
	if err := t.keepBlocks(p.BlobID, c.Blocks); err != nil {
		return err
	}
	return t.arrived(backend, reserved, p.Size, "")
}

// AbortUpload aborts an upload: ErrNoSuchUpload. Its parts are condemned, and the intents of
// parts in progress.
func (db *DB) AbortUpload(ctx context.Context, op lethe.ID, bucket, key string, id lethe.ID) error {
	return db.write(ctx, "abort upload "+string(id), func(t *tx) error {
		if err := t.lockUpload(id); err != nil {
			return err
		}
		if _, err := t.upload(id, bucket, key); err != nil {
			return err
		}
		if err := t.recordOnce(op, "abort", ""); err != nil {
			return err
		}
		return t.endUpload(id, nil)
	})
}

// endUpload removes an upload and its parts. Their blobs are condemned, except those taken;
// so are the intents of parts in progress.
func (t *tx) endUpload(id lethe.ID, taken map[lethe.ID]bool) error {
	blobs, err := all(t, sqldb.One[lethe.ID], partBlobs, id)
	if err != nil {
		return err
	}
	var left []lethe.ID
	for _, b := range blobs {
		if !taken[b] {
			left = append(left, b)
		}
	}
	if _, err := t.Send(deleteParts, id); err != nil {
		return err
	}
	if err := t.condemnParts(left); err != nil {
		return err
	}
	until := t.Now.Add(t.db.o.LateWindow)
	if _, err := t.condemnBy(lethe.Pending, condemnIntents, id, lethe.ReasonPart, t.Now, until); err != nil {
		return err
	}
	return t.Must(1, lethe.ErrNoSuchUpload, deleteUpload, id)
}
