package meta

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
)

var (
	resolveObject = register(`SELECT ` + qualified("o", objectColumns) + `, b.rules FROM buckets b
		JOIN objects o ON o.bucket_id = b.id AND o.key = ?2 WHERE b.name = ?1`)
	liveBlobs = register(`SELECT ` + blobColumns + ` FROM blobs
		WHERE content_id = ?1 AND state = 2 ORDER BY segment, suspect, replica, id`)
)

// Resolve finds an object and where its bytes lie, in one snapshot:
// ErrNoSuchBucket, ErrNoSuchKey (also from the instant its time has passed),
// ErrCorrupt if its segments do not make up its content.
func (db *DB) Resolve(ctx context.Context, bucket, key string) (out Resolved, err error) {
	err = db.read(ctx, "resolve "+bucket+"/"+key, func(t *tx) error {
		o, err := t.scanResolved(t.row(resolveObject, bucket, key))
		if errors.Is(err, sql.ErrNoRows) || err == nil && !o.visible(t.now) {
			_, err := t.bucket(bucket)
			return either(err, lethe.ErrNoSuchKey)
		}
		if err != nil {
			return t.failed(err)
		}
		o.Bucket = bucket
		out = Resolved{Object: o, Now: t.now}
		out.Segments, err = t.segments(o)
		return err
	})
	return out, err
}

// scanResolved scans objectColumns and the rules of the object's bucket.
func (t *tx) scanResolved(r scanner) (Object, error) {
	var text string
	o, err := scanObject(r, &text)
	if err != nil || o.RuleNumber == 0 {
		return o, err
	}
	rules, err := t.db.rules.decode(text)
	o.name(rules)
	return o, err
}

// segments lists the copies of an object's bytes, best first.
func (t *tx) segments(o Object) ([]Segment, error) {
	if o.ContentID == "" {
		return nil, nil
	}
	blobs, err := all(t, scanBlob, liveBlobs, o.ContentID)
	if err != nil {
		return nil, err
	}
	var out []Segment
	var size int64
	for _, b := range blobs {
		if b.Segment > len(out) {
			break
		}
		if b.Segment == len(out) {
			out = append(out, Segment{Size: b.Size, Digest: b.Digest})
			size += b.Size
		}
		out[b.Segment].Blobs = append(out[b.Segment].Blobs, b)
	}
	if size != o.Size {
		return nil, fmt.Errorf("content %s of %d bytes has segments of %d: %w", o.ContentID, o.Size, size, lethe.ErrCorrupt)
	}
	return out, nil
}
