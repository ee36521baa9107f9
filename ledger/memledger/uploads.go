package memledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// CreateUpload opens a multipart upload: ErrNoSuchBucket, ErrInvalidTTL,
// ErrInvalidReads.
func (db *DB) CreateUpload(ctx context.Context, u ledger.Upload) (ledger.Upload, error) {
	if err := db.enter(ctx); err != nil {
		return u, err
	}
	defer db.mu.Unlock()
	if err := cmp.Or(ledger.CheckKey(u.Key), ledger.CheckReads(u.Reads)); err != nil {
		return u, err
	}
	b, err := db.find(u.Bucket)
	if err == nil {
		err = b.meant(u.BucketID)
	}
	if err == nil {
		_, err = b.EndOf(db.now, ledger.TTLChange{TTL: u.TTL, At: u.TTLAt, ByKey: u.ByKey}, b.DefaultTTL)
	}
	if err == nil {
		_, err = b.EndsIdle(u.Idle, b.DefaultIdle)
	}
	if err != nil {
		return u, fmt.Errorf("memledger: create upload to %s/%s: %w", u.Bucket, u.Key, err)
	}
	if u.ID == "" {
		u.ID = db.newID()
	}
	row := &upload{Upload: cloneUpload(u), bucket: b,
		parts: table[*ledger.Part]{order: partsByNumber}, intents: table[*blob]{order: blobsByID}}
	row.Idle = row.Idle.Truncate(time.Microsecond)
	row.BucketID, row.CreatedAt, row.TouchedAt, row.ByKey = b.ID, db.now, db.now, ledger.KeyTTL{}
	db.uploads[u.ID] = row
	b.uploads.put(row)
	db.touched.put(row)
	return row.out(), nil
}

func (u *upload) out() ledger.Upload { return cloneUpload(u.Upload) }

// opened returns an upload by id and, if bucket is not empty, by its key: ErrNoSuchUpload.
func (db *DB) opened(id lethe.ID, bucket, key string) (*upload, error) {
	u := db.uploads[id]
	if u == nil || u.Bucket != bucket || u.Key != key {
		return nil, fmt.Errorf("memledger: upload %s to %s/%s: %w", id, bucket, key, lethe.ErrNoSuchUpload)
	}
	return u, nil
}

// Upload returns an upload: ErrNoSuchUpload, also if bucket or key differ.
func (db *DB) Upload(ctx context.Context, bucket, key string, id lethe.ID) (ledger.Upload, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Upload{}, err
	}
	defer db.mu.Unlock()
	u, err := db.opened(id, bucket, key)
	if err != nil {
		return ledger.Upload{}, err
	}
	return u.out(), nil
}

// UploadByID returns an upload: ErrNoSuchUpload.
func (db *DB) UploadByID(ctx context.Context, id lethe.ID) (ledger.Upload, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Upload{}, err
	}
	defer db.mu.Unlock()
	u := db.uploads[id]
	if u == nil {
		return ledger.Upload{}, fmt.Errorf("memledger: upload %s: %w", id, lethe.ErrNoSuchUpload)
	}
	return u.out(), nil
}

// Uploads lists the open uploads of a bucket by key, then id: ErrNoSuchBucket.
func (db *DB) Uploads(ctx context.Context, q ledger.UploadQuery) ([]ledger.Upload, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	b, err := db.find(q.Bucket)
	if err != nil {
		return nil, err
	}
	var out []ledger.Upload
	for _, u := range b.uploads.rows {
		if !strings.HasPrefix(u.Key, q.Prefix) || !after(u, q) {
			continue
		}
		if out = append(out, u.out()); len(out) == q.Limit {
			break
		}
	}
	return out, nil
}

// after reports whether an upload comes after the query's mark. All uploads of the mark's
// key are skipped, unless the mark names one of them.
func after(u *upload, q ledger.UploadQuery) bool {
	return u.Key > q.AfterKey || u.Key == q.AfterKey && q.AfterUpload != "" && u.ID > q.AfterUpload
}

// Parts lists the parts of an upload by number, except suspect ones; none if there is no
// such upload.
func (db *DB) Parts(ctx context.Context, id lethe.ID, after, limit int) ([]ledger.Part, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	u := db.uploads[id]
	if u == nil {
		return nil, nil
	}
	var out []ledger.Part
	for _, p := range u.parts.from(func(p *ledger.Part) bool { return p.Number > after }) {
		if db.whole(p) {
			out = append(out, clonePart(*p))
		}
		if len(out) == limit && limit > 0 {
			break
		}
	}
	return out, nil
}

// whole reports whether a part's bytes are not known to be missing or damaged.
func (db *DB) whole(p *ledger.Part) bool {
	b := db.byID[p.BlobID]
	return b == nil || !b.Suspect
}

// soundParts returns the parts that are not known to be missing or damaged.
func (db *DB) soundParts(u *upload) (out []ledger.Part) {
	for _, p := range u.parts.rows {
		if db.whole(p) {
			out = append(out, *p)
		}
	}
	return out
}

// part returns a part by number, nil if there is none.
func (u *upload) part(number int) *ledger.Part {
	rows := u.parts.from(func(p *ledger.Part) bool { return p.Number >= number })
	if len(rows) == 0 || rows[0].Number != number {
		return nil
	}
	return rows[0]
}

// CommitPart makes an uploaded blob a part, and replaces the part that had the number:
// ErrNoSuchUpload, ErrReaped.
func (db *DB) CommitPart(ctx context.Context, c ledger.PartCommit) (ledger.Part, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Part{}, err
	}
	defer db.mu.Unlock()
	u, b, err := db.partOf(c)
	if err != nil {
		return ledger.Part{}, fmt.Errorf("memledger: commit part %d of upload %s: %w", c.Part.Number, c.Part.UploadID, err)
	}
	if old := u.part(c.Part.Number); old != nil {
		db.dropPart(u, old)
	}
	p := clonePart(c.Part)
	p.CreatedAt = db.now
	u.parts.put(&p)
	if b != nil {
		db.storePart(b, c)
	}
	db.touched.drop(u)
	u.TouchedAt = db.now
	db.touched.put(u)
	db.record(c.Op, "part", p.BlobID)
	return clonePart(p), nil
}

// partOf checks a part's commit and returns its rows; the blob is nil for zero bytes.
func (db *DB) partOf(c ledger.PartCommit) (*upload, *blob, error) {
	u := db.uploads[c.Part.UploadID]
	if u == nil {
		return nil, nil, lethe.ErrNoSuchUpload
	}
	if err := db.fresh(c.Op); err != nil || c.Part.BlobID == "" {
		return u, nil, err
	}
	b, err := db.writing(c.Part.BlobID)
	if err == nil {
		err = cmp.Or(c.Blocks.Check(c.Part.Size), b.grows(c.Part.Size))
	}
	return u, b, err
}

func (db *DB) storePart(b *blob, c ledger.PartCommit) {
	next, p := b.Blob, c.Part
	next.State, next.UploadID, next.Part = lethe.Live, p.UploadID, p.Number
	next.Size, next.Digest, next.CRC32C = p.Size, p.Digest, c.CRC32C
	b.keepBlocks(&next, c.Blocks)
	if c.Late {
		next.LateUntil = db.now.Add(db.opts.LateWindow)
	}
	db.forgetPromotion(b.ID)
	db.set(b, next)
}

// dropPart removes a part and condemns its blob.
func (db *DB) dropPart(u *upload, p *ledger.Part) {
	if b := db.byID[p.BlobID]; b != nil {
		db.condemn(b, death{reason: lethe.ReasonPart, at: db.now})
	}
	u.parts.drop(p)
}

// end removes an upload. Its remaining blobs are condemned, including the intents of parts
// in progress.
func (db *DB) end(u *upload) {
	for _, p := range slices.Clone(u.parts.rows) {
		db.dropPart(u, p)
	}
	for _, b := range slices.Clone(u.intents.rows) {
		db.condemn(b, death{reason: lethe.ReasonPart, at: db.now, silent: true})
	}
	delete(db.uploads, u.ID)
	u.bucket.uploads.drop(u)
	db.touched.drop(u)
}

// AbortUpload condemns all parts and pending intents of an upload:
// ErrNoSuchUpload.
func (db *DB) AbortUpload(ctx context.Context, op lethe.ID, bucket, key string, id lethe.ID) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	u, err := db.opened(id, bucket, key)
	if err == nil {
		err = db.fresh(op)
	}
	if err != nil {
		return err
	}
	db.end(u)
	db.record(op, "abort", "")
	return nil
}
