package sqlledger

import (
	"context"
	"database/sql"
	"errors"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

var (
	putDocument = register(`INSERT INTO documents (bucket_id, kind, body) VALUES (?1, ?2, ?3)
		ON CONFLICT (bucket_id, kind) DO UPDATE SET body = excluded.body`)
	selectDocument = register(`SELECT d.kind IS NOT NULL, d.body FROM buckets b
		LEFT JOIN documents d ON d.bucket_id = b.id AND d.kind = ?2 WHERE b.name = ?1`)
	deleteDocument = register(`DELETE FROM documents WHERE bucket_id = ?1 AND kind = ?2`)
)

// PutDocument stores a document of a bucket and replaces one of the same kind:
// ErrNoSuchBucket.
func (db *DB) PutDocument(ctx context.Context, d ledger.Document) error {
	return db.write(ctx, "put "+d.Kind+" of bucket "+d.Bucket, func(t *tx) error {
		b, err := t.lockBucketMeant(d.Bucket, d.Into)
		if err == nil {
			err = t.putDocument(b.ID, d.Kind, d.Body)
		}
		return err
	})
}

// lockBucketMeant is lockBucket, and checks that it is the expected bucket, if one is given.
func (t *tx) lockBucketMeant(name string, meant lethe.ID) (ledger.Bucket, error) {
	b, err := t.lockBucket(name)
	if err == nil {
		err = ledger.CheckBucketID(name, b.ID, meant)
	}
	return b, err
}

// putDocument writes a document of a bucket that is locked, or new; nil is stored as an
// empty one.
func (t *tx) putDocument(bucket lethe.ID, kind string, body []byte) error {
	if body == nil {
		body = []byte{}
	}
	_, err := t.Send(putDocument, bucket, kind, body)
	return err
}

// Document returns a document of a bucket, nil if there is none: ErrNoSuchBucket.
func (db *DB) Document(ctx context.Context, bucket, kind string) (body []byte, err error) {
	err = db.readPoint(ctx, pointRead{"Document", "look for a document of bucket", bucket}, func(t *tx) error {
		var found bool
		err := t.Row(selectDocument, bucket, kind).Scan(&found, &body)
		if errors.Is(err, sql.ErrNoRows) {
			return noBucket(bucket)
		}
		if found && body == nil {
			body = []byte{} // the driver returns nil for an empty value
		}
		return t.Failed(err)
	})
	return body, err
}

// DeleteDocument removes the document of a bucket and kind, if it exists, whatever its body:
// ErrNoSuchBucket.
func (db *DB) DeleteDocument(ctx context.Context, d ledger.Document) error {
	return db.write(ctx, "delete "+d.Kind+" of bucket "+d.Bucket, func(t *tx) error {
		b, err := t.lockBucketMeant(d.Bucket, d.Into)
		if err == nil {
			_, err = t.Send(deleteDocument, b.ID, d.Kind)
		}
		return err
	})
}
