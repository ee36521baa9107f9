package sqlledger

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

var (
	insertBody = register(`INSERT INTO bodies (crc32c, head, tail) VALUES (?1, ?2, ?3)`)
	selectBody = register(`SELECT crc32c, head, tail FROM bodies WHERE no = ?1`)
	leaveBody  = register(`UPDATE contents SET body_no = 0 WHERE id = ?1 AND body_no = ?2`)
	repairBody = register(`INSERT INTO bodies (no, crc32c, head, tail) VALUES (?1, ?2, ?3, ?4)
		ON CONFLICT (no) DO UPDATE SET crc32c = excluded.crc32c, head = excluded.head, tail = excluded.tail`)
	deleteBodies = registerBoth(`DELETE FROM bodies WHERE no IN (SELECT no FROM `+sqldb.Rows(1, "no bigint")+`)`,
		`DELETE FROM bodies WHERE no = ANY (ARRAY(SELECT no FROM `+sqldb.Rows(1, "no bigint")+`))`)
	wholeBodies = register(`SELECT c.id, c.digest, c.size, b.crc32c, b.head, b.tail FROM contents c LEFT JOIN bodies b ON b.no = c.body_no
		WHERE c.body_no <> 0 AND c.id > ?1 AND c.id <= ?2 ORDER BY c.id`)
)

// referInline references the content of the inline bytes, a new one or a known one
// (docs/protocol.md, rule 23). ErrContentGone if it is known and lies on backends, where it
// is not sound.
func (w *write) referInline() error {
	known, err := w.openContent()
	switch {
	case err != nil:
		return err
	case known.id == "":
		w.content, err = w.t.createInline(w.key(), w.c.Inline)
		return err
	case known.body != 0:
		err = w.t.compareBody(known, w.c.Inline)
	case !known.trusted:
		err = fmt.Errorf("content %s of %d bytes on backends: %w", w.c.Content.Digest, w.c.Content.Size, lethe.ErrContentGone)
	}
	if err != nil {
		return err
	}
	w.duplicate = true
	w.gain(known.id)
	return nil
}

// createInline inserts a content with its first reference and its bytes.
func (t *tx) createInline(k ledger.ContentKey, b ledger.Body) (lethe.ID, error) {
	if err := t.insertBody(b); err != nil {
		return "", err
	}
	return t.createContent(k, insertInline)
}

// insertBody inserts and counts inline bytes. The next statement takes their number.
func (t *tx) insertBody(b ledger.Body) error {
	t.counts.blob(ledger.InLedger, lethe.Live, 1, int64(len(b.Bytes)))
	head, tail := t.parts(b.Bytes)
	_, err := t.Send(insertBody, b.CRC32C, head, tail)
	return err
}

// parts divides inline bytes into what the row takes and what PostgreSQL stores beside it.
func (t *tx) parts(body []byte) (head, tail []byte) {
	if t.Alone() {
		return body, []byte{}
	}
	return ServerParts(body)
}

// ServerParts divides the bytes of an inline content for the row of PostgreSQL: tail is a
// whole number of the chunks of a TOAST table, of which four fill a page of 8 KiB, and head
// the remainder. As one value, 4,096 bytes would be two chunks and a small one, beside which a
// page has room for three: a third of it would stay empty. On a server with pages of another
// size they take more room.
func ServerParts(body []byte) (head, tail []byte) {
	const chunk = 1996   // bytes
	const largest = 1970 // of a head, so that four rows fit into a page
	n := len(body) % chunk
	if n > largest {
		n = 0
	}
	return body[:n], body[n:]
}

// compareBody compares the bytes of a locked inline content with those that a client sent
// with the same digest, and replaces damaged or missing ones.
func (t *tx) compareBody(of known, sent ledger.Body) error {
	have, err := t.body(of.body, sent.Digest)
	if err != nil || have.CRC32C == sent.CRC32C && bytes.Equal(have.Bytes, sent.Bytes) {
		return err
	}
	head, tail := t.parts(sent.Bytes)
	_, err = t.Send(repairBody, of.body, sent.CRC32C, head, tail)
	return err
}

// body returns the bytes of a number and the digest of their content, none if they are
// missing.
func (t *tx) body(no int64, digest string) (b ledger.Body, err error) {
	var crc int64
	var tail []byte
	err = t.Row(selectBody, no).Scan(&crc, &b.Bytes, &tail)
	b.Bytes, b.Digest, b.CRC32C = append(b.Bytes, tail...), digest, uint32(crc)
	if errors.Is(err, sql.ErrNoRows) {
		return ledger.Body{}, nil
	}
	return b, t.Failed(err)
}

// intactBody reports whether inline bytes are there and match their sum: a condition for a
// reference without an upload (docs/protocol.md, rule 20).
func (t *tx) intactBody(no int64, k ledger.ContentKey) (bool, error) {
	b, err := t.body(no, k.Digest)
	return err == nil && b.Check(k.Size) == nil, err
}

// leaveLedger removes the bytes of a locked inline content for which blobs became live.
func (t *tx) leaveLedger(c known, size int64) error {
	gone := fmt.Errorf("inline content %s: %w", c.id, lethe.ErrCorrupt)
	if err := t.Must(1, gone, leaveBody, c.id, c.body); err != nil {
		return err
	}
	if _, err := t.Send(deleteBodies.of(t), sqldb.JSON([]bodyRow{{c.body}})); err != nil {
		return err
	}
	t.counts.blob(ledger.InLedger, lethe.Live, -1, -size)
	t.replicate(c.id)
	return nil
}

// dropBodies removes the bytes of inline contents that were deleted by these losses.
func (t *tx) dropBodies(gone []droppedContent, by []lossRow) (out freed, err error) {
	why := make(map[lethe.ID]lethe.Reason, len(by))
	for _, l := range by {
		why[l.ID] = l.Reason
	}
	var bodies []bodyRow
	for _, c := range gone {
		if c.body != 0 {
			bodies = append(bodies, bodyRow{c.body})
			out.bytes += c.size
			t.goneInline(c, why[c.id])
		}
	}
	if out.contents = len(bodies); out.contents == 0 {
		return out, nil
	}
	// Bytes that are missing keep nothing from going: a recount reports them.
	_, err = t.Send(deleteBodies.of(t), sqldb.JSON(bodies))
	t.counts.blob(ledger.InLedger, lethe.Live, -int64(out.contents), -out.bytes)
	return out, err
}

// bodyRow names a row of bodies as a parameter.
type bodyRow struct {
	No int64 `json:"no"`
}

// freed counts inline contents whose bytes went in the transaction.
type freed struct {
	contents int
	bytes    int64
}

// CheckBodies compares the inline bytes of a page of contents after an id with their
// digests. A page has up to limit contents, also those on backends.
func (db *DB) CheckBodies(ctx context.Context, after lethe.ID, limit int) (out ledger.BodyCheck, err error) {
	err = db.walk(ctx, "check inline bytes", func(t *tx) error {
		out = ledger.BodyCheck{}
		if err := t.Row(contentPages, after, bounded(limit)).Scan(&out.Last); err != nil || out.Last == "" {
			return t.Failed(err)
		}
		rows, err := t.Query(wholeBodies, after, out.Last)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id lethe.ID
			var k ledger.ContentKey
			var crc sql.NullInt64
			var b ledger.Body
			var tail []byte
			if err := rows.Scan(&id, &k.Digest, &k.Size, &crc, &b.Bytes, &tail); err != nil {
				return t.Failed(err)
			}
			b.Bytes, b.CRC32C = append(b.Bytes, tail...), uint32(crc.Int64)
			out.Add(id, k, b)
		}
		return t.Failed(rows.Err())
	})
	return out, err
}
