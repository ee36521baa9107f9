package sqlledger

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
)

var (
	misplacedContents = register(`SELECT ` + contentColumns + ` FROM contents WHERE id > ?1 AND id <= ?2
		AND CASE WHEN body_no <> 0 THEN size > ?3 ELSE kind = 'whole' AND size <= ?3 END ORDER BY id`)
	movedContent = register(`SELECT digest, size, kind, body_no FROM contents WHERE id = ?1`)
	enterLedger  = register(`UPDATE contents SET body_no = ` + engine.LastNumber + ` WHERE id = ?1 AND body_no = 0`)
)

// MisplacedContents returns a page of the contents that store.inline has elsewhere. A page
// passes up to Limit contents, so that no snapshot stays open for long.
func (db *DB) MisplacedContents(ctx context.Context, q ledger.Misplaced) (out ledger.ContentPage, err error) {
	err = db.walk(ctx, "misplaced contents", func(t *tx) error {
		out = ledger.ContentPage{}
		if err := t.Row(contentPages, q.After, bounded(q.Limit)).Scan(&out.Last); err != nil || out.Last == "" {
			return t.Failed(err)
		}
		out.Contents, err = all(t, scanContent, misplacedContents, q.After, out.Last, q.Inline)
		return err
	})
	return out, err
}

// InlineBody returns the bytes of an inline content, not checked: ErrContentGone if it is
// gone or lies on backends.
func (db *DB) InlineBody(ctx context.Context, content lethe.ID) (b ledger.Body, err error) {
	err = db.read(ctx, "inline bytes of content "+string(content), func(t *tx) error {
		k, no, err := t.movable(content)
		if err != nil {
			return err
		}
		if no == 0 {
			return fmt.Errorf("content %s lies on backends: %w", content, lethe.ErrContentGone)
		}
		b, err = t.body(no, k.Digest)
		return err
	})
	return b, err
}

// movable returns what a content is and the number of its inline bytes, 0 if it lies on
// backends: ErrContentGone if it is gone.
func (t *tx) movable(content lethe.ID) (k ledger.ContentKey, no int64, err error) {
	list, err := all(t, func(r *sql.Rows) (none struct{}, err error) {
		return none, r.Scan(&k.Digest, &k.Size, &k.Kind, &no)
	}, movedContent, content)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("content %s: %w", content, lethe.ErrContentGone)
	}
	return k, no, err
}

// MoveToLedger writes the bytes of a content that lies on backends, and condemns its blobs
// (live to condemned), which stay for Options.MovedGrace; it returns how many. ErrContentGone if
// the content is gone or lies in the ledger, ErrDigestMismatch if these are not its bytes,
// ErrNoRoom if the ledger's disk is full.
func (db *DB) MoveToLedger(ctx context.Context, content lethe.ID, b ledger.Body) (blobs int, err error) {
	if err := b.CheckMove(); err != nil {
		return 0, err
	}
	err = db.batch(ctx, "move content "+string(content)+" to the ledger", func(t *tx) error {
		if err := t.NeedsRoom(); err != nil {
			return err
		}
		if err := t.Must(1, lethe.ErrContentGone, lockContentRow, content); err != nil {
			return err
		}
		k, no, err := t.movable(content)
		switch {
		case err != nil:
			return err
		case no != 0:
			return fmt.Errorf("content %s lies in the ledger: %w", content, lethe.ErrContentGone)
		case k.Kind != lethe.Whole || k.Digest != b.Digest || k.Size != int64(len(b.Bytes)):
			return fmt.Errorf("content %s: %w", content, lethe.ErrDigestMismatch)
		}
		if err := t.insertBody(b); err != nil {
			return err
		}
		if err := t.Must(1, lethe.ErrContentGone, enterLedger, content); err != nil {
			return err
		}
		moved := []lossRow{{ID: content, Died: t.Now, Reason: lethe.ReasonRebalance}}
		gone, err := t.condemnContents(moved, moved, t.Ask(anyReplicaPending), t.db.o.MovedGrace)
		blobs = gone.blobs
		return err
	})
	return blobs, err
}

// inlineSource locks an inline content that is copied to a backend, and returns it as a blob,
// with the number of its bytes: ErrContentGone.
func (t *tx) inlineSource(content lethe.ID) (ledger.Blob, int64, error) {
	if err := t.Must(1, lethe.ErrContentGone, lockContentRow, content); err != nil {
		return ledger.Blob{}, 0, err
	}
	k, no, err := t.movable(content)
	if err == nil && no == 0 {
		err = fmt.Errorf("content %s lies on backends: %w", content, lethe.ErrContentGone)
	}
	return ledger.Blob{ContentID: content, Size: k.Size, Digest: k.Digest}, no, err
}
