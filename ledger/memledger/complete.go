package memledger

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// Complete makes an object of exactly the parts named and condemns the others:
// ErrNoSuchUpload, ErrInvalidPart (also for a suspect part), ErrInvalidPartOrder,
// ErrPartTooSmall, ErrUnverified (ledger.UnreadParts has the parts), and the errors of
// Commit. Repeated by the same operation, it returns the object while that is under its key.
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
	parts, err := c.Choose(db.soundParts(u))
	if err != nil {
		return ledger.Committed{}, err
	}
	commit, err := c.Compose(u.Upload, parts)
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
	w.up, w.parts = db.stored(parts), true
	if err := db.unread(w); err != nil {
		return ledger.Committed{}, err
	}
	if err := w.quota(); err != nil {
		return ledger.Committed{}, err
	}
	for _, p := range parts {
		u.parts.drop(u.part(p.Number))
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

// stored returns the blobs of the parts that become segments.
func (db *DB) stored(parts []ledger.Part) (up []upped) {
	for _, p := range ledger.SegmentsOf(parts) {
		row := db.byID[p.BlobID]
		up = append(up, upped{ledger.Uploaded{Blob: p.BlobID, Size: p.Size, Digest: p.Digest, CRC32C: row.CRC32C, Blocks: row.blockSums()}, row})
	}
	return up
}

// unread returns an error if parts that become segments were not read since their backends
// were in doubt.
func (db *DB) unread(w *write) error {
	if db.openTrusted(w.key, w.Reach) != nil {
		return nil // they are duplicates
	}
	var doubted []ledger.Blob
	for _, u := range w.up {
		if !u.row.trusted(0) {
			doubted = append(doubted, u.row.Blob)
		}
	}
	if len(doubted) == 0 {
		return nil
	}
	return ledger.Unread(doubted)
}
