package sqlledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

var (
	// An update that changes nothing locks the row in every database.
	lockContentRow = register(`UPDATE contents SET closed = closed WHERE id = ?1`)
	lockUploadRow  = register(`UPDATE uploads SET touched_at = touched_at WHERE id = ?1`)
	sourceBlob     = register(`SELECT ` + blobColumns + ` FROM blobs WHERE id = ?1 AND state = 2`)
	insertCopy     = register(`INSERT INTO blobs (` + blobColumns + `)
		VALUES (?1, ?2, 1, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10, 0, '', 0, 0, 0, '', 0, 0, '', 0, 0, ?11, 0)`)
	pendingCopy = register(`SELECT ` + blobColumns + ` FROM blobs WHERE id = ?1 AND state = 1 AND fence = 0`)
	copyLive    = register(`UPDATE blobs SET state = 2, late_until = ?2, block = ?3 WHERE id = ?1 AND state = 1 AND fence = 0`)
	movePart    = register(`UPDATE parts SET blob_id = ?2 WHERE upload_id = ?3 AND number = ?4 AND blob_id = ?1`)
	// A copy is condemned only beside another live row that is sound as far as known, and
	// was read to its end recently (docs/protocol.md, rule 17).
	soundBeside = register(`SELECT 1 FROM blobs b WHERE b.content_id = ?1 AND b.segment = ?2
		AND b.state = 2 AND b.suspect = 0 AND b.verified_at > ?4
		AND b.verified_at > (SELECT k.trusted_since FROM backends k WHERE k.id = b.backend)
		AND b.id NOT IN (SELECT id FROM ` + sqldb.IDs(3) + `) LIMIT 1`)
	trimmed = register(`SELECT DISTINCT b.segment FROM ` + sqldb.IDs(1) + ` CROSS JOIN blobs b
		WHERE b.id = t.id AND b.content_id = ?2 AND b.state = 2 ORDER BY b.segment`)
)

// BeginCopy commits the pending row of one more copy of a live blob, or of the first one of an
// inline content. ErrContentGone if the blob, its content or its upload is gone; ErrNoRoom; ErrBackendMismatch; ErrFenced if the
// subject's claim was taken over.
func (db *DB) BeginCopy(ctx context.Context, in ledger.CopyIntent) (b ledger.Blob, err error) {
	err = db.batch(ctx, "begin copy "+string(in.ID), func(t *tx) error {
		b, err = t.beginCopy(in)
		return err
	})
	return b, err
}

func (t *tx) beginCopy(in ledger.CopyIntent) (ledger.Blob, error) {
	src, _, err := t.copySource(in.Source, in.Inline)
	if err != nil {
		return ledger.Blob{}, err
	}
	if in.Inline != "" {
		src.CRC32C = in.CRC32C
	}
	b := in.Copy(src, t.Now)
	if b.ContentID != "" {
		if b.Replica, err = t.replica(b.ContentID); err != nil {
			return b, err
		}
	}
	on, err := t.backend(in.Backend)
	if err == nil {
		err = t.admits(on, b.Size)
	}
	if err != nil {
		return b, err
	}
	_, err = t.Send(insertCopy, b.ID, b.Backend, b.Size, b.Digest, null(b.ContentID), b.Segment, b.Replica, null(b.UploadID), b.Part, t.Now, b.CRC32C)
	if err != nil {
		return b, err
	}
	t.counts.move(ledger.Move{Backend: b.Backend, To: lethe.Pending, Blobs: 1, Bytes: b.Size})
	if in.Inline != "" {
		return b, nil
	}
	return b, t.keepSubject(src, in.Fence, in.Lease)
}

// copySource locks and returns what is copied: a live blob, or an inline content with the
// number of its bytes.
func (t *tx) copySource(blob, inline lethe.ID) (src ledger.Blob, body int64, err error) {
	if inline != "" {
		return t.inlineSource(inline)
	}
	src, err = t.copied(blob)
	return src, 0, err
}

// copied locks what the blob belongs to, and returns the blob: ErrContentGone unless it is
// still live.
func (t *tx) copied(id lethe.ID) (ledger.Blob, error) {
	src, err := t.oneBlob(sourceBlob, id)
	if err != nil || src == nil {
		return ledger.Blob{}, cmp.Or(err, fmt.Errorf("blob %s is not live: %w", id, lethe.ErrContentGone))
	}
	lock, owner := lockContentRow, src.ContentID
	if owner == "" {
		lock, owner = lockUploadRow, src.UploadID
	}
	gone := fmt.Errorf("what blob %s belongs to: %w", id, lethe.ErrContentGone)
	if err := t.Must(1, gone, lock, owner); err != nil {
		return ledger.Blob{}, err
	}
	// Rows that were read before the lock may be stale, or have another owner by now.
	now, err := t.oneBlob(sourceBlob, id)
	if err == nil && (now == nil || now.ContentID != src.ContentID || now.UploadID != src.UploadID) {
		err = gone
	}
	if err != nil {
		return ledger.Blob{}, err
	}
	return *now, nil
}

// oneBlob returns a blob's row, nil if the query has none.
func (t *tx) oneBlob(query string, args ...any) (*ledger.Blob, error) {
	b, err := scanBlobRow(t.Row(query, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &b, t.Failed(err)
}

// keepSubject checks the claim on what the blob belongs to, and restarts its lease.
func (t *tx) keepSubject(b ledger.Blob, fence int64, lease time.Duration) error {
	subject := b.ContentID
	if subject == "" {
		subject = b.ID
	}
	return t.Must(1, lethe.ErrFenced, keepPlacement, subject, fence, t.Now.Add(lease))
}

// CommitCopy makes a pending copy live (pending to live). The copy of a part replaces the
// source, which is condemned; that of an inline content replaces its bytes in the ledger. ErrReaped if the copy is not pending any more, ErrContentGone
// if the source has changed since the copy was begun, ErrDigestMismatch if other bytes were
// sent, ErrFenced if the subject's claim was taken over. On an error nothing has changed.
func (db *DB) CommitCopy(ctx context.Context, c ledger.CopyCommit) error {
	return db.batch(ctx, "commit copy "+string(c.Blob), func(t *tx) error {
		src, body, err := t.copySource(c.Source, c.Inline)
		if err != nil {
			return err
		}
		b, err := t.oneBlob(pendingCopy, c.Blob)
		if err != nil || b == nil {
			return cmp.Or(err, lethe.ErrReaped)
		}
		if err := c.Check(*b, src); err != nil {
			return err
		}
		late := lethe.Time(0)
		if c.Late {
			late = t.Now.Add(t.db.o.LateWindow)
		}
		if err := t.Must(1, lethe.ErrReaped, copyLive, b.ID, late, c.Blocks.Size); err != nil {
			return err
		}
		if err := t.keepBlocks(b.ID, c.Blocks); err != nil {
			return err
		}
		t.counts.move(ledger.Move{Backend: b.Backend, From: lethe.Pending, To: lethe.Live, Blobs: 1, Bytes: b.Size})
		if body != 0 {
			return t.leaveLedger(known{id: src.ContentID, body: body}, src.Size)
		}
		if src.UploadID != "" {
			if err := t.swapPart(src, b.ID); err != nil {
				return err
			}
		}
		return t.keepSubject(src, c.Fence, c.Lease)
	})
}

// swapPart gives a stored part another blob, and condemns the previous one.
func (t *tx) swapPart(src ledger.Blob, blob lethe.ID) error {
	gone := fmt.Errorf("part %d was stored again: %w", src.Part, lethe.ErrContentGone)
	if err := t.Must(1, gone, movePart, src.ID, blob, src.UploadID, src.Part); err != nil {
		return err
	}
	return t.condemnOwned([]lethe.ID{src.ID}, lethe.ReasonRebalance)
}

// TrimCopies condemns live copies of a content (live to condemned) and returns how many.
// Each must have a copy of the same segment that stays, is live and not suspect, and was
// read and found whole within the trust window, or within JustRead if that is longer
// (docs/protocol.md, rule 17): else ErrPreconditionFailed, and nothing has changed. Blobs
// that are not live copies of the content are left alone. ErrContentGone if the content is
// gone, ErrFenced if its claim was taken over.
func (db *DB) TrimCopies(ctx context.Context, r ledger.Trim) (n int, err error) {
	err = db.batch(ctx, "trim copies of content "+string(r.Content), func(t *tx) error {
		if err := t.Must(1, lethe.ErrContentGone, lockContentRow, r.Content); err != nil {
			return err
		}
		names := sqldb.JSON(r.Blobs)
		segments, err := all(t, sqldb.One[int64], trimmed, names, r.Content)
		if err != nil {
			return err
		}
		for _, s := range segments {
			if ok, err := t.exists(soundBeside, r.Content, s, names, t.lately()); err != nil || !ok {
				return cmp.Or(err, fmt.Errorf("segment %d has no verified copy beside these: %w", s, lethe.ErrPreconditionFailed))
			}
		}
		c, err := t.condemnCopies(r)
		n = c.blobs
		if err != nil {
			return err
		}
		return t.keepSubject(ledger.Blob{ContentID: r.Content}, r.Fence, r.Lease)
	})
	return n, err
}

var condemnCopies = register(setCondemned + `reason = ?3, died_at = ?4, due_at = ?5
	WHERE id IN (SELECT id FROM ` + sqldb.IDs(1) + `) AND content_id = ?2 AND state = 2
	RETURNING id, backend, size, reason`)

func (t *tx) condemnCopies(r ledger.Trim) (condemned, error) {
	return t.condemnBy(lethe.Live, condemnCopies, sqldb.JSON(r.Blobs), r.Content, r.Reason, t.Now, t.Now.Add(t.db.o.ReadGrace))
}
