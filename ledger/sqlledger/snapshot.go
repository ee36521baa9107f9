package sqlledger

import (
	"context"
	"database/sql"

	"github.com/lethe-storage/lethe/ledger"
)

var (
	snapObjects = register(`SELECT ` + qualified("o", objectColumns) + `, coalesce(b.name, '')
		FROM objects o JOIN buckets b ON b.id = o.bucket_id ORDER BY o.bucket_id, o.key`)
	snapTrash    = register(`SELECT ` + trashColumns + ` FROM trash ORDER BY id`)
	snapContents = register(`SELECT ` + contentColumns + ` FROM contents ORDER BY id`)
	snapBodies   = register(`SELECT c.id, c.digest, b.crc32c, b.head, b.tail FROM contents c JOIN bodies b ON b.no = c.body_no ORDER BY c.id`)
	snapBlobs    = register(`SELECT ` + blobColumns + ` FROM blobs ORDER BY id`)
	snapUploads  = register(`SELECT ` + uploadColumns + uploadTables + `ORDER BY u.touched_at, u.id`)
	snapParts    = register(`SELECT ` + qualified("p", partColumns) + ` FROM parts p JOIN uploads u ON u.id = p.upload_id
		ORDER BY u.touched_at, u.id, p.number`)
	snapBuckets = register(`SELECT id, coalesce(name, ''), holds` + bucketTotals + ` FROM buckets ORDER BY id`)
	snapLimits  = register(`SELECT '', ` + limitColumns + ` FROM limits ORDER BY kind, subject`)
)

// Snapshot reads all rows in one read transaction.
func (db *DB) Snapshot(ctx context.Context) (s ledger.Snapshot, err error) {
	err = db.walk(ctx, "snapshot", func(t *tx) error {
		for _, fill := range []func() error{
			func() (err error) { s.Objects, err = all(t, scanNamedObject, snapObjects); return err },
			func() (err error) { s.Trash, err = all(t, scanTrash, snapTrash); return err },
			func() (err error) { s.Contents, err = all(t, scanContent, snapContents); return err },
			func() (err error) { s.Bodies, err = all(t, scanBody, snapBodies); return err },
			func() (err error) { s.Blobs, err = all(t, scanBlob, snapBlobs); return err },
			func() (err error) { s.Uploads, err = all(t, scanUpload, snapUploads); return err },
			func() (err error) { s.Parts, err = all(t, scanPart, snapParts); return err },
			func() (err error) { s.Buckets, err = all(t, scanBucketTotal, snapBuckets); return err },
			func() (err error) {
				s.Limits, err = all(t, scanLimitRow, snapLimits)
				return err
			},
		} {
			if err := fill(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return s, err
	}
	if s.Totals, err = db.Totals(ctx); err != nil {
		return s, err
	}
	s.Receipts, err = db.allReceipts(ctx)
	return s, err
}

func scanContent(r *sql.Rows) (c ledger.Content, err error) {
	var body int64
	err = r.Scan(&c.ID, &c.Domain, &c.Kind, &c.Digest, &c.Size, &c.Refs, &c.Closed, &c.CreatedAt, &body)
	c.Inline = body != 0
	return c, err
}

func scanBody(r *sql.Rows) (b ledger.ContentBody, err error) {
	var tail []byte
	err = r.Scan(&b.Content, &b.Digest, &b.CRC32C, &b.Bytes, &tail)
	b.Bytes = append(b.Bytes, tail...)
	return b, err
}

func scanBucketTotal(r *sql.Rows) (b ledger.BucketTotal, err error) {
	err = r.Scan(&b.ID, &b.Name, &b.Holds, &b.Objects, &b.Bytes)
	return b, err
}

// named scans one more column after those of a Scanner.
type named struct {
	*sql.Rows
	name *string
}

// Scan implements sqldb.Scanner.
func (n named) Scan(dest ...any) error { return n.Rows.Scan(append(dest, n.name)...) }

func scanNamedObject(r *sql.Rows) (ledger.Object, error) {
	var name string
	o, err := scanObject(named{r, &name})
	o.Bucket = name
	return o, err
}
