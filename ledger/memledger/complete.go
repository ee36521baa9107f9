package memledger

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// Complete makes an object of exactly the parts named and condemns the others:
// ErrNoSuchUpload, ErrInvalidPart (also for a suspect part), ErrInvalidPartOrder,
// ErrPartTooSmall, and the errors of Commit. Repeated by the same operation, it returns the
// object while that is under its key.
func (db *DB) Complete(ctx context.Context, c ledger.Completion) (ledger.Committed, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Committed{}, err
	}
	defer db.leave()
	out, err := db.complete(c)
	if err != nil {
		return out, fmt.Errorf("memledger: complete upload %s to %s/%s: %w", c.UploadID, c.Bucket, c.Key, err)
	}
	return out, nil
}

func (db *DB) complete(c ledger.Completion) (ledger.Committed, error) {
	u, err := db.opened(c.UploadID, c.Bucket, c.Key)
	if err != nil {
		return db.completed(c, err)
	}
	parts, err := db.chosen(u, c)
	if err != nil {
		return ledger.Committed{}, err
	}
	commit, up, err := db.compose(u, c, parts)
	if err == nil {
		err = db.fresh(c.Op)
	}
	if err != nil {
		return ledger.Committed{}, err
	}
	w, err := db.check(&commit)
	if err != nil {
		return ledger.Committed{}, err
	}
	w.up, w.parts = up, true
	if err := w.quota(); err != nil {
		return ledger.Committed{}, err
	}
	for _, p := range parts {
		u.parts.drop(p)
		if p.BlobID != "" && p.Size == 0 {
			db.condemn(db.byID[p.BlobID], death{reason: lethe.ReasonPart, at: db.now})
		}
	}
	out := db.apply(w)
	db.end(u)
	return out, nil
}

// completed returns the object for an upload that is gone, if this very operation completed
// it; else gone.
func (db *DB) completed(c ledger.Completion, gone error) (ledger.Committed, error) {
	if done := db.ops[c.Op]; done == nil || done.What != "complete" {
		return ledger.Committed{}, gone
	}
	b, err := db.find(c.Bucket)
	if err != nil {
		return ledger.Committed{}, err
	}
	o := db.visible(b, c.Key)
	if o == nil || o.ID != c.Op || o.ETag != c.Commit.Object.ETag {
		return ledger.Committed{}, gone
	}
	return ledger.Committed{Object: o.out()}, nil
}

// chosen returns the parts named, in ascending order.
func (db *DB) chosen(u *upload, c ledger.Completion) ([]*ledger.Part, error) {
	if len(c.Parts) == 0 {
		return nil, fmt.Errorf("no parts named: %w", lethe.ErrInvalidPart)
	}
	parts := make([]*ledger.Part, len(c.Parts))
	for i, name := range c.Parts {
		if i > 0 && name.Number <= c.Parts[i-1].Number {
			return nil, fmt.Errorf("part %d after %d: %w", name.Number, c.Parts[i-1].Number, lethe.ErrInvalidPartOrder)
		}
		parts[i] = db.soundPart(u, name.Number)
	}
	for i, p := range parts {
		if p == nil || p.ETag != c.Parts[i].ETag {
			return nil, fmt.Errorf("part %d with etag %s: %w", c.Parts[i].Number, c.Parts[i].ETag, lethe.ErrInvalidPart)
		}
	}
	for _, p := range parts[:len(parts)-1] {
		if p.Size < c.MinPart {
			return nil, fmt.Errorf("part %d of %d bytes: %w", p.Number, p.Size, lethe.ErrPartTooSmall)
		}
	}
	return parts, nil
}

// compose returns the commit of the parts' bytes. Parts of zero bytes are no segments.
func (db *DB) compose(u *upload, c ledger.Completion, parts []*ledger.Part) (ledger.Commit, []upped, error) {
	commit := c.Commit
	commit.Op, commit.What, commit.Source = c.Op, "complete", nil
	o := &commit.Object
	o.Bucket, o.Key, o.Tags, o.Size = u.Bucket, u.Key, u.Tags, 0
	commit.TTL, o.TTLAt = u.TTL, u.TTLAt
	var up []upped
	var sums []lethe.SegmentSum
	for _, p := range parts {
		if p.Size == 0 {
			continue
		}
		o.Size += p.Size
		sums = append(sums, lethe.SegmentSum{Digest: p.Digest, Size: p.Size})
		row := db.byID[p.BlobID]
		up = append(up, upped{ledger.Uploaded{Blob: p.BlobID, Size: p.Size, Digest: p.Digest, CRC32C: row.CRC32C, Blocks: row.blockSums()}, row})
	}
	digest, err := lethe.MultipartDigest(sums)
	commit.Content = ledger.ContentKey{Kind: lethe.Multipart, Digest: digest, Size: o.Size}
	return commit, up, err
}
