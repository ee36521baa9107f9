package sqlledger

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

var referable = register(`SELECT body_no, digest FROM contents WHERE id = ?1 AND domain = ?2 AND closed = 0`)

// referSource references the content of the object to copy from: ErrNoSuchKey if that
// version is gone, ErrContentGone if its bytes must be copied.
func (w *write) referSource() error {
	o, err := w.source()
	if err != nil {
		return err
	}
	s := w.c.Source
	if !o.VisibleAt(w.t.Now) || o.ID != s.ID {
		return fmt.Errorf("version %s of source %s/%s: %w", s.ID, s.Bucket, s.Key, lethe.ErrNoSuchKey)
	}
	if o.ContentID == "" {
		return nil
	}
	if err := w.t.lockContents("", o.ContentID, w.losing()); err != nil {
		return err
	}
	var body int64
	k := ledger.ContentKey{Size: o.Size}
	err = w.t.Row(referable, o.ContentID, w.bucket.Domain).Scan(&body, &k.Digest)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		err = lethe.ErrContentGone
	case err != nil:
		err = w.t.Failed(err)
	case body == 0:
		err = w.t.verified(o.ContentID)
	default:
		var intact bool
		if intact, err = w.t.intactBody(body, k); err == nil && !intact {
			err = lethe.ErrContentGone
		}
	}
	if err != nil {
		return fmt.Errorf("content %s of source %s/%s: %w", o.ContentID, s.Bucket, s.Key, err)
	}
	w.gain(o.ContentID)
	return nil
}

// source returns the row to copy from, nil if there is none. For an object copied onto
// itself that is the row already read.
func (w *write) source() (*ledger.Object, error) {
	b, err := w.t.bucket(w.c.Source.Bucket)
	if err != nil {
		return nil, err
	}
	if b.ID == w.bucket.ID && w.c.Source.Key == w.c.Object.Key {
		return w.old, nil
	}
	return w.t.object(b, w.c.Source.Key)
}
