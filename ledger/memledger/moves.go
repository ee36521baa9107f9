package memledger

import (
	"context"
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// MisplacedContents returns a page of the contents that store.inline has elsewhere.
func (db *DB) MisplacedContents(ctx context.Context, q ledger.Misplaced) (out ledger.ContentPage, err error) {
	if err := db.enter(ctx); err != nil {
		return out, err
	}
	defer db.leave()
	for _, c := range first(db.contents.from(func(c *content) bool { return c.ID > q.After }), q.Limit) {
		if out.Last = c.ID; q.Has(c.Content) {
			out.Contents = append(out.Contents, c.Content)
		}
	}
	return out, nil
}

// InlineBody returns the bytes of an inline content: ErrContentGone.
func (db *DB) InlineBody(ctx context.Context, id lethe.ID) (ledger.Body, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Body{}, err
	}
	defer db.leave()
	c := db.contentOf(id)
	if c == nil || !c.Inline {
		return ledger.Body{}, fmt.Errorf("memledger: content %s does not lie in the ledger: %w", id, lethe.ErrContentGone)
	}
	return c.body, nil
}

// MoveToLedger writes the bytes of a content that lies on backends, and condemns its blobs:
// ErrContentGone, ErrDigestMismatch.
func (db *DB) MoveToLedger(ctx context.Context, id lethe.ID, b ledger.Body) (blobs int, err error) {
	if err := b.CheckMove(); err != nil {
		return 0, err
	}
	if err := db.enter(ctx); err != nil {
		return 0, err
	}
	defer db.mu.Unlock()
	c := db.contentOf(id)
	switch {
	case c == nil || c.Inline:
		return 0, fmt.Errorf("memledger: content %s is gone, or lies in the ledger: %w", id, lethe.ErrContentGone)
	case c.Kind != lethe.Whole || c.Digest != b.Digest || c.Size != int64(len(b.Bytes)):
		return 0, fmt.Errorf("memledger: content %s: %w", id, lethe.ErrDigestMismatch)
	}
	c.Inline, c.body = true, b
	c.body.Bytes = slices.Clone(b.Bytes)
	db.countInline(c, 1)
	for _, row := range slices.Clone(db.rowsOf(c)) {
		if row.State == lethe.Live || row.State == lethe.Pending {
			db.condemn(row, death{reason: lethe.ReasonRebalance, at: db.now, silent: row.State == lethe.Pending, moved: true})
			blobs++
		}
	}
	return blobs, nil
}
