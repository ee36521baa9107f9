package object

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// inline makes the object with its bytes in the ledger (docs/protocol.md, rule 23). If
// the content is known on a backend and not sound there, the bytes join it there.
func (w *write) inline(ctx context.Context, data []byte) (PutResult, error) {
	c := w.plan()
	c.Inline = ledger.NewBody(c.Content.Digest, data)
	res, err := w.s.commit(ctx, c, nil)
	switch {
	case errors.Is(err, lethe.ErrContentGone):
		return w.uploaded(ctx, data)
	case err == nil && res.Duplicate:
		w.s.events.deduped(res.Object, true)
	}
	return res, err
}

// openInline returns a window of inline bytes, verified.
func (s *Store) openInline(res ledger.Resolved, w window) (io.ReadCloser, error) {
	data, err := s.inlineBytes(res)
	if err != nil {
		return nil, err
	}
	// They are in memory already, and at most a block: beyond the budget they are what the
	// stream of a larger object holds.
	held := s.bodyMemory.Account("")
	held.Hold(res.Object.Size)
	return &memory{Reader: bytes.NewReader(data[w.offset : w.offset+w.length]), held: held}, nil
}

// inlineBytes returns the bytes of an inline content, verified.
func (s *Store) inlineBytes(res ledger.Resolved) ([]byte, error) {
	if err := res.Inline.Check(res.Object.Size); err != nil {
		s.events.corrupt(ledger.Blob{Backend: ledger.InLedger, State: lethe.Live, Size: res.Object.Size, ContentID: res.Object.ContentID}, err)
		return nil, fmt.Errorf("content %s: %w", res.Object.ContentID, err)
	}
	return res.Inline.Bytes, nil
}
