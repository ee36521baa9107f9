package sqlledger

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
)

var (
	contentTrusted = register(`SELECT coalesce(max(b.segment) + 1, 0),
			count(DISTINCT CASE WHEN b.state = 2 AND b.suspect = 0 AND ` + trusted + ` THEN b.segment END)
		FROM blobs b WHERE b.content_id = ?1`)
	contentWithin = register(`SELECT coalesce(max(b.segment) + 1, 0),
			count(DISTINCT CASE WHEN b.state = 2 AND b.suspect = 0 AND ` + trusted + `
				AND b.backend IN (SELECT id FROM ` + sqldb.IDs(3) + `) THEN b.segment END)
		FROM blobs b WHERE b.content_id = ?1`)
	nextReplica   = register(`SELECT coalesce(max(replica) + 1, 0) FROM blobs WHERE content_id = ?1`)
	insertContent = register(`INSERT INTO contents (id, domain, kind, digest, size, refs, closed, created_at, body_no)
		VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6, ?7, 0)`)
	// insertInline inserts the content of the bytes that were inserted just before.
	insertInline = register(`INSERT INTO contents (id, domain, kind, digest, size, refs, closed, created_at, body_no)
		VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6, ?7, ` + engine.LastNumber + `)`)
	pendingBlob = register(`SELECT backend, size FROM blobs WHERE id = ?1 AND state = 1 AND fence = ?2 ` + sqldb.Exclusive)
	blobLive    = register(`UPDATE blobs SET state = 2, size = ?3, digest = ?4, content_id = ?5, segment = ?6, replica = ?7,
			upload_id = NULL, part = 0, late_until = ?8, worker = '', fence = 0, claimed_at = 0, crc32c = ?9, block = ?10
		WHERE id = ?1 AND state = 1 AND fence = ?2`)
)

// known is a content that takes references.
type known struct {
	id   lethe.ID // empty: there is none
	body int64    // number of its inline bytes; 0: it lies on backends
	// trusted: it can be referenced without its bytes.
	trusted bool
}

// openContent returns the content of an identity that takes references, and whether it is
// trusted within the reach of the write. It locks it, along with the content that the write
// takes a reference from.
func (w *write) openContent() (c known, err error) {
	t, k := w.t, w.key()
	if c = w.under.open; w.under.asked != nil {
		err = w.under.asked.Scan(&c.id, &c.body)
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return known{}, t.Failed(err)
	}
	if err := t.lockContents(c.id, w.losing()); err != nil || c.id == "" {
		return known{}, err
	}
	if t.concurrentWriters() { // it may have been moved before it was locked
		if _, c.body, err = t.movable(c.id); err != nil {
			return known{}, err
		}
	}
	switch {
	case c.body == 0:
		c.trusted, err = t.trusted(c.id, w.c.Reach)
	case w.c.Inline.Inline():
		c.trusted = true // its bytes are compared with those of the write
	default:
		c.trusted, err = t.intactBody(c.body, k)
	}
	return c, err
}

// losing returns the content that loses the replaced object's reference; "" if the trash
// keeps that, which it does not of an object whose reads are counted.
func (w *write) losing() lethe.ID {
	if w.old == nil || w.old.VisibleAt(w.t.Now) && w.bucket.Undo > 0 && !w.old.Counted() {
		return ""
	}
	return w.old.ContentID
}

// unknown returns ErrContentKnown if the commit can reference its content without the bytes,
// or ErrNoSuchBucket. It is a hint that locks nothing. asked is the answer of askKnown.
func (t *tx) unknown(c ledger.Commit, asked sqldb.Scanner) error {
	var id sql.Null[lethe.ID]
	var trusted bool
	err := asked.Scan(&id, &trusted)
	if err != nil {
		return t.bucketError(c.Object.Bucket, err)
	}
	if !id.Valid {
		return nil
	}
	if !trusted {
		trusted, err = t.trusted(id.V, nil)
	}
	if err == nil && trusted {
		err = lethe.ErrContentKnown
	}
	return err
}

// askKnown asks for a content with the identity of the commit's.
func (t *tx) askKnown(c ledger.Commit) sqldb.Scanner {
	k := c.Content
	return t.Ask(knownContent.of(t), c.Object.Bucket, k.Digest, k.Size, k.Kind)
}

// replica returns the number for one more copy of a content.
func (t *tx) replica(content lethe.ID) (n int, err error) {
	err = t.Row(nextReplica, content).Scan(&n)
	return n, t.Failed(err)
}

// createContent inserts a content with its first reference, by insertContent or insertInline.
func (t *tx) createContent(k ledger.ContentKey, insert string) (lethe.ID, error) {
	id := lethe.NewID(t.Now, t.Random)
	closed := flag(t.db.o.MaxRefs <= 1)
	if _, err := t.Send(insert, id, k.Domain, k.Kind, k.Digest, k.Size, closed, t.Now); err != nil {
		return "", err
	}
	return id, t.noteDigest(k, id)
}

// place is what uploaded blobs become: segments of a content, with a replica number.
type place struct {
	content lethe.ID
	replica int
	fence   int64 // fence of the pending blobs: 0, or a reaper's
}

// makeLive makes uploaded blobs the segments, in order, of one copy of a content. ErrReaped
// if one of them is not pending any more; ErrNoRoom if it is larger than its reservation and
// the backend is full.
func (t *tx) makeLive(up []ledger.Uploaded, p place) error {
	for i, u := range up {
		backend, size, err := t.pending(u.Blob, p.fence)
		if err != nil {
			return err
		}
		late := lethe.Time(0)
		if u.Late {
			late = t.Now.Add(t.db.o.LateWindow)
		}
		reaped := fmt.Errorf("blob %s: %w", u.Blob, lethe.ErrReaped)
		if err := t.Must(1, reaped, blobLive, u.Blob, p.fence, u.Size, u.Digest, p.content, i, p.replica, late, u.CRC32C, u.Blocks.Size); err != nil {
			return err
		}
		if err := t.keepBlocks(u.Blob, u.Blocks); err != nil {
			return err
		}
		how := lethe.Reason("")
		if p.fence != 0 {
			how = movePromoted
		}
		if err := t.arrived(backend, size, u.Size, how); err != nil {
			return err
		}
	}
	return nil
}

// arrived moves a blob's bytes in the counters. A writer reserves bytes before it sends
// them. Bytes beyond the reservation need room now: ErrNoRoom.
func (t *tx) arrived(backend string, reserved, size int64, how lethe.Reason) error {
	if size > reserved {
		if err := t.reserve(backend, size-reserved); err != nil {
			return err
		}
	}
	t.counts.move(ledger.Move{Backend: backend, From: lethe.Pending, To: lethe.Live, Reason: how, Blobs: 1, Bytes: reserved})
	t.counts.blob(backend, lethe.Live, 0, size-reserved)
	return nil
}

func blobsOf(up []ledger.Uploaded) []lethe.ID {
	out := make([]lethe.ID, len(up))
	for i, u := range up {
		out[i] = u.Blob
	}
	return out
}

// pending returns the backend and the reserved bytes of a pending blob: ErrReaped unless it
// is pending and carries the fence.
func (t *tx) pending(id lethe.ID, fence int64) (backend string, size int64, err error) {
	err = t.Row(pendingBlob, id, fence).Scan(&backend, &size)
	if errors.Is(err, sql.ErrNoRows) {
		return "", 0, fmt.Errorf("blob %s: %w", id, lethe.ErrReaped)
	}
	return backend, size, t.Failed(err)
}

// condemnDuplicates condemns uploads whose content exists already.
func (t *tx) condemnDuplicates(up []ledger.Uploaded, fence int64) error {
	for _, u := range up {
		c, err := t.condemn([]lethe.ID{u.Blob}, lethe.Pending, fence, death{reason: lethe.ReasonDuplicate, at: t.Now, late: u.Late})
		if err == nil && c.blobs != 1 {
			err = fmt.Errorf("blob %s: %w", u.Blob, lethe.ErrReaped)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
