package sqlledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

const (
	uploadColumns = `u.id, u.bucket_id, b.name, u.key, u.owner, u.attrs, u.tags, u.ttl, u.ttl_at, u.created_at, u.touched_at, u.reads, u.idle`
	uploadTables  = ` FROM uploads u JOIN buckets b ON b.id = u.bucket_id `
	partColumns   = `upload_id, number, blob_id, size, etag, digest, checksums, created_at`
)

var (
	selectUpload = register(`SELECT ` + uploadColumns + uploadTables + `WHERE u.id = ?1`)
	pageUploads  = register(`SELECT ` + uploadColumns + uploadTables + `WHERE u.bucket_id = ?1
		AND u.key >= ?3 AND (u.key > ?3 OR (?4 <> '' AND u.id > ?4))
		AND u.key >= ?2 AND (?5 = '' OR u.key < ?5)
		ORDER BY u.key, u.id LIMIT ?6`)
	pageParts = register(`SELECT ` + partColumns + ` FROM parts
		WHERE upload_id = ?1 AND number > ?2
			AND NOT EXISTS (SELECT 1 FROM blobs b WHERE b.id = parts.blob_id AND b.suspect = 1)
		ORDER BY number LIMIT ?3`)
)

// Upload returns an open upload: ErrNoSuchUpload, also if its bucket or key is another.
func (db *DB) Upload(ctx context.Context, bucket, key string, id lethe.ID) (u ledger.Upload, err error) {
	err = db.read(ctx, "upload "+string(id), func(t *tx) error {
		u, err = t.upload(id, bucket, key)
		return err
	})
	return u, err
}

// UploadByID returns an open upload: ErrNoSuchUpload.
func (db *DB) UploadByID(ctx context.Context, id lethe.ID) (u ledger.Upload, err error) {
	err = db.read(ctx, "upload "+string(id), func(t *tx) error {
		u, err = t.uploadByID(id)
		return err
	})
	return u, err
}

func (t *tx) uploadByID(id lethe.ID) (ledger.Upload, error) {
	found, err := all(t, scanUpload, selectUpload, id)
	if err != nil {
		return ledger.Upload{}, err
	}
	if len(found) == 0 {
		return ledger.Upload{}, lethe.ErrNoSuchUpload
	}
	return found[0], nil
}

// upload is uploadByID, and checks bucket and key.
func (t *tx) upload(id lethe.ID, bucket, key string) (ledger.Upload, error) {
	u, err := t.uploadByID(id)
	if err == nil && (u.Bucket != bucket || u.Key != key) {
		return ledger.Upload{}, lethe.ErrNoSuchUpload
	}
	return u, err
}

// Uploads lists a bucket's open uploads by key, then id: ErrNoSuchBucket. With AfterKey
// alone it begins after that key, with AfterUpload too after that upload of it.
func (db *DB) Uploads(ctx context.Context, q ledger.UploadQuery) (list []ledger.Upload, err error) {
	err = db.read(ctx, "uploads of "+q.Bucket, func(t *tx) error {
		list, err = t.uploads(q)
		return err
	})
	return list, err
}

func (t *tx) uploads(q ledger.UploadQuery) ([]ledger.Upload, error) {
	b, err := t.bucket(q.Bucket)
	if err != nil {
		return nil, err
	}
	return all(t, scanUpload, pageUploads, b.ID, q.Prefix, q.AfterKey, q.AfterUpload, following(q.Prefix), bounded(q.Limit))
}

// Parts lists up to limit stored parts of an upload with numbers above after, ascending;
// none if there is no such upload. Parts that were found missing or damaged are left out, so
// that clients send them again.
func (db *DB) Parts(ctx context.Context, upload lethe.ID, after, limit int) (parts []ledger.Part, err error) {
	err = db.read(ctx, "parts of upload "+string(upload), func(t *tx) error {
		parts, err = all(t, scanPart, pageParts, upload, after, bounded(limit))
		return err
	})
	return parts, err
}

func scanUpload(r *sql.Rows) (u ledger.Upload, err error) {
	var name sql.NullString
	var attrs, tags string
	var ttl, idle int64
	err = r.Scan(&u.ID, &u.BucketID, &name, &u.Key, &u.Owner, &attrs, &tags, &ttl, &u.TTLAt, &u.CreatedAt, &u.TouchedAt, &u.Reads, &idle)
	if err != nil {
		return u, err
	}
	u.Bucket, u.TTL, u.Idle = name.String, duration(ttl), duration(idle)
	if u.Attrs, u.Tags, err = decodeAttrs(attrs, tags); err != nil {
		return u, fmt.Errorf("upload %s: %w", u.ID, err)
	}
	return u, nil
}

func scanPart(r *sql.Rows) (p ledger.Part, err error) {
	var blob sql.NullString
	var checksums string
	if err = r.Scan(&p.UploadID, &p.Number, &blob, &p.Size, &p.ETag, &p.Digest, &checksums, &p.CreatedAt); err != nil {
		return p, err
	}
	p.BlobID = lethe.ID(blob.String)
	if checksums == "{}" {
		return p, nil
	}
	if err = json.Unmarshal([]byte(checksums), &p.Checksums); err != nil {
		return p, fmt.Errorf("checksums of part %d of upload %s: %w (%w)", p.Number, p.UploadID, lethe.ErrCorrupt, err)
	}
	return p, nil
}
