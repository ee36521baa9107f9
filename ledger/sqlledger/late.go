package sqlledger

import (
	"context"
	"database/sql"
	"errors"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

var (
	heldBlob   = register(`SELECT state FROM blobs WHERE id = ?1 ` + sqldb.Exclusive)
	insertLate = register(`INSERT INTO blobs (id, backend, state, size, digest, segment, replica, part,
			created_at, beat_at, died_at, reason, due_at, late_until, attempts, last_error, suspect, verified_at,
			worker, fence, claimed_at)
		VALUES (?1, ?2, 3, ?3, '', 0, 0, 0, ?4, ?4, ?4, '` + string(lethe.ReasonUploadOrphan) + `', ?4, ?5, 0, '', 0, 0, '', 0, 0)
		ON CONFLICT (id) DO NOTHING`)
	keepLate = register(`UPDATE blobs SET late_until = ?2 WHERE id = ?1 AND state IN (3, 4) AND late_until < ?2`)
)

// CondemnLate gives a row to bytes that were sent when their intent may already have been
// removed (docs/protocol.md, rule 19). It is condemned, due now, and kept until a delete
// after the late window. An existing row stays in its state; if that is condemned or dead it
// is kept as long, so that a delete in progress is repeated. Repeating the call changes only
// that time. ErrBackendMismatch for an unknown backend.
func (db *DB) CondemnLate(ctx context.Context, b ledger.LateBytes) error {
	return db.write(ctx, "condemn late blob "+string(b.Blob), func(t *tx) error {
		until := t.now.Add(t.db.o.LateWindow)
		var state lethe.State
		err := t.row(heldBlob, b.Blob).Scan(&state)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return t.insertLate(b, until)
		case err != nil:
			return t.failed(err)
		}
		_, err = t.exec(keepLate, b.Blob, until)
		return err
	})
}

func (t *tx) insertLate(b ledger.LateBytes, until lethe.Time) error {
	if _, err := t.backend(b.Backend); err != nil {
		return err
	}
	n, err := t.exec(insertLate, b.Blob, b.Backend, b.Size, t.now, until)
	if err == nil && n == 1 {
		t.counts.move(ledger.Move{Backend: b.Backend, From: 0, To: lethe.Condemned, Reason: lethe.ReasonUploadOrphan, Blobs: 1, Bytes: b.Size})
	}
	return err
}
