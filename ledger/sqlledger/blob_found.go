package sqlledger

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

var insertFound = register(`INSERT INTO blobs (` + blobColumns + `)
	VALUES (?1, ?2, 2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10, 0, '', 0, 0, 0, '', 0, ?11, '', 0, 0, ?12, ?13)
	ON CONFLICT (id) DO NOTHING`)

// TakeOrphan makes an orphan the copy of a lost blob (nothing to live), as its bytes were read and
// are those. A lost part is replaced by it, and condemned; of a content, placement condemns the lost
// copy beside the new one. ErrContentGone unless the blob is live, suspect and without a sound copy,
// ErrDigestMismatch for other bytes, ErrBackendMismatch while deletes on the backend are held, ErrClock
// while the clock is in doubt, ErrFenced if the pairing has changed, the orphan has a row, or a
// delete of it may yet take effect. On an error nothing has changed.
func (db *DB) TakeOrphan(ctx context.Context, f ledger.Found) (b ledger.Blob, err error) {
	err = db.batch(ctx, "take orphan "+string(f.Orphan), func(t *tx) error {
		lost, err := t.foundFor(f)
		if err != nil {
			return err
		}
		b = f.Copy(lost, t.Now)
		if b.ContentID != "" {
			if b.Replica, err = t.replica(b.ContentID); err != nil {
				return err
			}
		}
		// The finding first, as CondemnOrphans locks them.
		store, err := t.storeID()
		if err != nil {
			return err
		}
		if _, err := t.Send(forgetOrphans, sqldb.JSON([]string{lethe.BlobKey(store, b.ID)}), b.Backend); err != nil {
			return err
		}
		taken := fmt.Errorf("orphan %s has a row: %w", b.ID, lethe.ErrFenced)
		err = t.Must(1, taken, insertFound, b.ID, b.Backend, b.Size, b.Digest, null(b.ContentID), b.Segment, b.Replica,
			null(b.UploadID), b.Part, t.Now, b.VerifiedAt, b.CRC32C, b.Block)
		if err != nil {
			return err
		}
		t.counts.move(ledger.Move{Backend: b.Backend, To: lethe.Live, Blobs: 1, Bytes: b.Size})
		if err := t.keepBlocks(b.ID, f.Blocks); err != nil {
			return err
		}
		if lost.UploadID != "" {
			return t.swapPart(lost, b.ID)
		}
		t.counts.place(b.ContentID)
		return nil
	})
	return b, err
}

// foundFor locks and returns the lost blob, if the orphan may become its copy.
func (t *tx) foundFor(f ledger.Found) (lost ledger.Blob, err error) {
	if err := t.trustClock(); err != nil {
		return lost, err
	}
	if lost, err = t.copied(f.Lost); err != nil {
		return lost, err
	}
	copies := 0
	if lost.ContentID != "" {
		if err := t.Row(standingCopies, lost.ContentID, lost.Segment, lost.ID).Scan(&copies); err != nil {
			return lost, t.Failed(err)
		}
	}
	on, err := t.backend(f.Backend)
	if err != nil {
		return lost, err
	}
	doubt, err := t.clockDoubt(f.Backend)
	if err == nil {
		err = f.Check(lost, copies, on, doubt, t.Now)
	}
	return lost, err
}
