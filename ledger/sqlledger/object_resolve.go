package sqlledger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// copyColumns are the columns of a blob that reading needs, in the order of copied.
const copyColumns = `c.id, c.backend, c.size, c.digest, c.segment, c.replica, c.suspect, c.crc32c, c.block, k.sums`

// copySums joins a copy with its sums if they fit into one row. For a copy of one block, or
// of many rows, nothing is read.
var copySums = fmt.Sprintf(`LEFT JOIN blocks k
	ON k.blob_id = CASE WHEN c.block > 0 AND c.size <= %d * c.block THEN c.id END AND k.first_no = 0`, ledger.SumsPerRow)

// inlineBody joins an object with its inline bytes. For an object too large for them nothing
// is read.
var inlineBody = fmt.Sprintf(`LEFT JOIN contents n ON n.id = CASE WHEN o.size <= %d THEN o.content_id END
		LEFT JOIN bodies y ON y.no = n.body_no`, ledger.MaxInline)

// readColumns are the columns of an object that is read: used_at only where reads are noted.
var readColumns = strings.TrimSuffix(qualified("o", objectColumns), `o.used_at`) + `CASE WHEN o.idle_for <> 0 OR b.evict <> 'written' THEN o.used_at END`

var (
	statObject = register(`SELECT ` + readColumns + `, ` + ruledBy)

	// resolveObject returns the object with each copy of its first segment, or its inline
	// bytes. That is nearly always the whole object, in one row, which SQLite would copy with
	// its bytes to sort it: resolve sorts. Each column of an index that is looked up depends on
	// the same tables: PostgreSQL may plan a join, while the ledger is new, by one column of an
	// index without its first, and keep that plan.
	resolveObject = register(`SELECT ` + readColumns + `, b.evict, b.evict_age, CASE WHEN o.rule_no <> 0 THEN b.rules ELSE '' END, CASE WHEN y.no <> 0 THEN n.digest END, y.crc32c, y.head, y.tail, ` + copyColumns + `
		FROM buckets b JOIN objects o ON o.bucket_id = b.id AND o.key = ` + keyIn("b") + `
		` + inlineBody + `
		LEFT JOIN blobs c ON c.content_id = CASE WHEN y.no IS NULL THEN o.content_id END
			AND c.segment = CASE WHEN y.no IS NULL AND o.size >= 0 THEN 0 END AND c.state = 2
		` + copySums + `
		WHERE b.name = ?1`)
	liveBlobs = register(`SELECT ` + copyColumns + ` FROM blobs c ` + copySums + `
		WHERE c.content_id = ?1 AND c.state = 2 ORDER BY c.segment, c.suspect, c.replica, c.id`)
)

// keyIn is parameter 2, a key, as an expression that depends on the bucket.
func keyIn(bucket string) string { return `CASE WHEN ` + bucket + `.created_at >= 0 THEN ?2 END` }

// Resolve returns an object and where its bytes are, in one snapshot: ErrNoSuchBucket,
// ErrNoSuchKey (also once it has expired), ErrCorrupt if its segments do not make up its
// content.
func (db *DB) Resolve(ctx context.Context, bucket, key string) (out ledger.Resolved, err error) {
	out, since, found := db.kept(ctx, bucket, key)
	if found {
		return out, nil
	}
	err = db.readPoint(ctx, pointRead{"Resolve", "resolve a key of", bucket}, func(t *tx) error {
		out, found, err = t.resolve(bucket, key)
		return err
	})
	if err == nil && found && out.Covered() {
		db.keep(since, out)
		return out, nil
	}
	if err != nil {
		return out, err
	}
	err = db.read(ctx, "resolve "+bucket+"/"+key, func(t *tx) error {
		out, found, err = t.resolve(bucket, key)
		switch {
		case err != nil:
			return err
		case !found:
			_, err = t.bucket(bucket)
			return cmp.Or(err, lethe.ErrNoSuchKey)
		case out.Inline.Inline():
			return nil
		}
		out.Segments, err = t.segments(out.Object)
		return err
	})
	return out, err
}

// StatObject returns an object without its bytes and where they are, in one snapshot:
// ErrNoSuchBucket, ErrNoSuchKey (also once it has expired).
func (db *DB) StatObject(ctx context.Context, bucket, key string) (out ledger.Resolved, err error) {
	out, _, found := db.kept(ctx, bucket, key)
	if found {
		return ledger.Resolved{Object: out.Object, Now: out.Now, Evict: out.Evict}, nil
	}
	stat := func(t *tx) error {
		o, in, err := t.ruledObject(statObject, bucket, key)
		if found = o != nil && o.VisibleAt(t.Now); found {
			out.Object, out.Now, out.Evict = *o, t.Now, in
		}
		return err
	}
	if err = db.readPoint(ctx, pointRead{"StatObject", "look up a key of", bucket}, stat); err != nil || found {
		return out, err
	}
	err = db.read(ctx, "look up "+bucket+"/"+key, func(t *tx) error {
		if err := stat(t); err != nil || found {
			return err
		}
		_, err := t.bucket(bucket)
		return cmp.Or(err, lethe.ErrNoSuchKey)
	})
	return out, err
}

// resolve returns a visible object and its first segment.
func (t *tx) resolve(bucket, key string) (out ledger.Resolved, found bool, err error) {
	var first []segmentCopy
	_, err = all(t, func(r *sql.Rows) (none struct{}, err error) {
		c, err := t.scanResolved(r, &out)
		if err == nil && c.ID != "" {
			first = append(first, c)
		}
		found = true
		return none, err
	}, resolveObject, bucket, key)
	if err != nil || !found || !out.Object.VisibleAt(t.Now) {
		return ledger.Resolved{}, false, err
	}
	out.Object.Bucket, out.Now = bucket, t.Now
	slices.SortFunc(first, better)
	out.Segments = bySegment(first, out.Object.ContentID)
	return out, true, nil
}

// scanResolved scans a row of resolveObject; a copy without an id is absent.
func (t *tx) scanResolved(r *sql.Rows, out *ledger.Resolved) (c segmentCopy, err error) {
	var rules string
	var digest sql.NullString
	var crc sql.NullInt64
	var tail []byte
	var age int64
	var into copied
	if out.Object, err = scanObject(r, append([]any{&out.Evict.Order, &age, &rules, &digest, &crc, &out.Inline.Bytes, &tail}, into.columns()...)...); err != nil {
		return c, err
	}
	out.Inline.Bytes = append(out.Inline.Bytes, tail...)
	out.Evict.MinAge = duration(age)
	out.Inline.Digest, out.Inline.CRC32C = digest.String, uint32(crc.Int64)
	return into.copy(), t.nameRule(&out.Object, rules)
}

// nameRule sets the name of the rule that ends the object, from its bucket's rules.
func (t *tx) nameRule(o *ledger.Object, text string) error {
	if o.RuleNumber == 0 {
		return nil
	}
	rules, err := t.db.rules.decode(text)
	o.NameRule(rules)
	return err
}

// copied is a row of copyColumns, which are NULL where there is no copy.
type copied struct {
	id, backend, digest         sql.NullString
	size, segment, replica, crc sql.NullInt64
	block                       sql.NullInt64
	suspect                     sql.NullBool
	sums                        []byte
}

// segmentCopy is a copy of a segment, with its sums if they fit into one row.
type segmentCopy struct {
	ledger.Blob
	sums lethe.BlockSums
}

// better is the order in which copies of a segment are read: that of liveBlobs.
func better(a, b segmentCopy) int {
	suspect := func(c segmentCopy) int {
		if c.Suspect {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(suspect(a), suspect(b)), cmp.Compare(a.Replica, b.Replica), cmp.Compare(a.ID, b.ID))
}

func (c *copied) columns() []any {
	return []any{&c.id, &c.backend, &c.size, &c.digest, &c.segment, &c.replica, &c.suspect, &c.crc, &c.block, &c.sums}
}

func (c *copied) copy() segmentCopy {
	out := segmentCopy{Blob: ledger.Blob{
		ID: lethe.ID(c.id.String), Backend: c.backend.String, State: lethe.Live, Size: c.size.Int64, Digest: c.digest.String,
		Segment: int(c.segment.Int64), Replica: int(c.replica.Int64), Suspect: c.suspect.Bool, CRC32C: uint32(c.crc.Int64),
		Block: c.block.Int64,
	}}
	if n := len(c.sums); n > 0 && int64(n) == 4*lethe.Blocks(out.Size, out.Block) {
		out.sums = lethe.BlockSums{Size: out.Block, Sums: unpacked(c.sums)}
	}
	return out
}

func scanCopy(r *sql.Rows) (segmentCopy, error) {
	var into copied
	err := r.Scan(into.columns()...)
	return into.copy(), err
}

// segments lists the copies of an object's bytes, best first.
func (t *tx) segments(o ledger.Object) ([]ledger.Segment, error) {
	if o.ContentID == "" {
		return nil, nil
	}
	blobs, err := all(t, scanCopy, liveBlobs, o.ContentID)
	if err != nil {
		return nil, err
	}
	r := ledger.Resolved{Object: o, Segments: bySegment(blobs, o.ContentID)}
	if !r.Covered() {
		return nil, fmt.Errorf("content %s has segments that do not make up its %d bytes: %w", o.ContentID, o.Size, lethe.ErrCorrupt)
	}
	return r.Segments, nil
}

// bySegment groups the copies of a content by segment, up to the first missing one.
func bySegment(copies []segmentCopy, content lethe.ID) (out []ledger.Segment) {
	for _, b := range copies {
		if b.Segment > len(out) {
			break
		}
		b.ContentID = content
		if b.Segment == len(out) {
			out = append(out, ledger.Segment{Size: b.Size, Digest: b.Digest})
		}
		seg := &out[b.Segment]
		seg.Blobs = append(seg.Blobs, b.Blob)
		if seg.Blocks.Size == 0 {
			seg.Blocks = b.sums
		}
	}
	return out
}
