package sqlledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
)

var (
	insertIntent = register(`INSERT INTO blobs (` + blobColumns + `)
		VALUES (?1, ?2, 1, ?3, ?4, NULL, 0, 0, ?5, ?6, ?7, ?7, 0, '', 0, 0, 0, '', 0, 0, '', 0, 0, 0, 0) ON CONFLICT (id) DO NOTHING`)
	promoteIn = register(`INSERT INTO promotions (blob_id, bucket_id, key, payload)
		SELECT ?1, id, ?3, ?4 FROM buckets WHERE name = ?2`)
	// promoteInGated locks the bucket as gatedBucket does.
	promoteInGated = registerFor(sqldb.PostgresName, `INSERT INTO promotions (blob_id, bucket_id, key, payload)
		SELECT ?1, id, ?3, ?4 FROM buckets
		CROSS JOIN (SELECT pg_advisory_xact_lock_shared(?5)) AS gate WHERE name = ?2 FOR SHARE OF buckets`)
	openUpload  = register(`SELECT 1 FROM uploads WHERE id = ?1 ` + sqldb.Shared)
	backendUsed = register(`SELECT coalesce(sum(bytes), 0), ` + engine.Connections + ` FROM blob_counters WHERE backend = ?1`)
	beatBlob    = register(`UPDATE blobs SET beat_at = ?2, size = ?3 WHERE id = ?1 AND state = 1 AND fence = 0`)
	extendGrace = register(`UPDATE blobs SET due_at = ?2
		WHERE content_id = ?1 AND state = 3 AND fence = 0 AND due_at < ?2`)
)

// errTaken is returned for an intent whose id a blob has.
var errTaken = errors.New("the id is taken; every upload needs a new one")

// Begin commits a pending row (docs/protocol.md, rule 1). Errors: ErrContentKnown, if the
// intent is for unknown bytes only; ErrNoRoom; ErrBackendMismatch for an unknown backend;
// ErrNoSuchUpload; ErrNoSuchBucket and ErrInvalidKey of a promotion.
func (db *DB) Begin(ctx context.Context, in ledger.Intent) (b ledger.Blob, err error) {
	if in.Promotion != nil {
		if err := ledger.CheckKey(in.Promotion.Commit.Object.Key); err != nil {
			return b, fmt.Errorf("ledger: begin blob %s: %w", in.ID, err)
		}
	}
	err = db.writeAsking(ctx, "begin blob "+string(in.ID), func(t *tx) error {
		b, err = t.begin(in)
		return err
	})
	return b, err
}

func (t *tx) begin(in ledger.Intent) (ledger.Blob, error) {
	b := ledger.Blob{
		ID: in.ID, Backend: in.Backend, State: lethe.Pending, Size: in.Size, Digest: in.FixedDigest(),
		UploadID: in.UploadID, Part: in.Part,
	}
	var known sqldb.Scanner
	if in.Unknown && in.Promotion != nil {
		known = t.askKnown(in.Promotion.Commit)
	}
	if in.UploadID != "" {
		// The end of an upload condemns its intents, so this one must be inserted before
		// that or not at all.
		if found, err := t.exists(openUpload, in.UploadID); err != nil || !found {
			return b, cmp.Or(err, lethe.ErrNoSuchUpload)
		}
	}
	on, err := t.backend(in.Backend)
	if known != nil && (err == nil || errors.Is(err, lethe.ErrBackendMismatch)) {
		if err := t.unknown(in.Promotion.Commit, known); err != nil {
			return b, err
		}
	}
	if err := cmp.Or(err, t.NeedsRoom()); err != nil {
		return b, err
	}
	if err := t.admits(on, in.Size); err != nil {
		return b, err
	}
	b.CreatedAt, b.BeatAt = t.Now, t.Now
	if err := t.Must(1, errTaken, insertIntent, b.ID, b.Backend, b.Size, b.Digest, null(b.UploadID), b.Part, t.Now); err != nil {
		return b, err
	}
	t.counts.move(ledger.Move{Backend: b.Backend, To: lethe.Pending, Blobs: 1, Bytes: b.Size})
	return b, t.promise(in)
}

// promise stores what a reaper needs to finish the write.
func (t *tx) promise(in ledger.Intent) error {
	if in.Promotion == nil {
		return nil
	}
	o := in.Promotion.Commit.Object
	query, args := promoteIn, []any{in.ID, o.Bucket, o.Key, sqldb.JSON(in.Promotion)}
	if t.concurrentWriters() {
		query, args = promoteInGated, append(args, gateOf("bucket", o.Bucket))
	}
	return t.Must(1, noBucket(o.Bucket), query, args...)
}

// reserve returns ErrNoRoom if n more bytes on a backend exceed its quota. The transaction's
// counters include them.
func (t *tx) reserve(id string, n int64) error {
	b, err := t.backend(id)
	if err != nil {
		return err
	}
	return t.fits(b, n)
}

func (t *tx) fits(b ledger.Backend, n int64) error {
	if b.Quota == 0 {
		return nil
	}
	q := quota{t: t, name: "backend " + b.ID}
	if err := q.enter(); err != nil {
		return err
	}
	var used, others int64
	if err := t.Row(backendUsed, b.ID).Scan(&used, &others); err != nil {
		return t.Failed(err)
	}
	free := b.Quota - used
	if n > free {
		return fmt.Errorf("%d bytes on backend %s with %d free: %w", n, b.ID, free, lethe.ErrNoRoom)
	}
	return q.leave(roomy(free, n, others))
}

// Beat records a heartbeat of a pending row, and grows its reservation to size bytes if that
// is more: ErrReaped, ErrNoRoom.
func (db *DB) Beat(ctx context.Context, blob lethe.ID, size int64) error {
	return db.write(ctx, "beat of blob "+string(blob), func(t *tx) error {
		backend, have, err := t.pending(blob, 0)
		if err != nil {
			return err
		}
		if size > have {
			if err := t.reserve(backend, size-have); err != nil {
				return err
			}
			t.counts.blob(backend, lethe.Pending, 0, size-have)
		}
		return t.Must(1, lethe.ErrReaped, beatBlob, blob, t.Now, max(size, have))
	})
}

// Abandon condemns a pending row that its writer gives up: ErrReaped if it is not pending
// any more. late: an upload under its name may still land.
func (db *DB) Abandon(ctx context.Context, blob lethe.ID, late bool) error {
	return db.write(ctx, "abandon blob "+string(blob), func(t *tx) error {
		d := death{reason: lethe.ReasonUploadOrphan, at: t.Now, late: late}
		c, err := t.condemn([]lethe.ID{blob}, lethe.Pending, 0, d)
		if err == nil && c.blobs != 1 {
			return lethe.ErrReaped
		}
		return err
	})
}

// ExtendGrace delays the deletion of a content's condemned, unclaimed blobs to at least a
// read grace from now, for a reader that still needs them.
func (db *DB) ExtendGrace(ctx context.Context, content lethe.ID) error {
	return db.write(ctx, "extend grace of content "+string(content), func(t *tx) error {
		_, err := t.Send(extendGrace, content, t.Now.Add(t.db.o.ReadGrace))
		return err
	})
}
