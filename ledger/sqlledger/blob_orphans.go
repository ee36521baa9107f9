package sqlledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

// ripe selects orphans that are old enough and were seen in two walks, the later of which is
// the one that asks.
const ripe = `SELECT key, size FROM findings
		WHERE backend = ?1 AND kind = 'orphan' AND key > ?2 AND last_walk = ?3 AND first_walk <> last_walk AND first_at <= ?4`

var (
	ripeOrphans    = register(ripe + ` ORDER BY key LIMIT ?5 ` + sqldb.Exclusive)
	ripeNamed      = register(ripe + ` AND key IN (SELECT id FROM ` + sqldb.IDs(6) + `) ORDER BY key LIMIT ?5 ` + sqldb.Exclusive)
	condemnOrphans = register(`INSERT INTO blobs (id, backend, state, size, digest, segment, replica, part,
			created_at, beat_at, died_at, reason, due_at, late_until, attempts, last_error, suspect, verified_at,
			worker, fence, claimed_at)
		SELECT t.id, ?2, 3, t.size, '', 0, 0, 0, ?3, ?3, ?3, '` + string(lethe.ReasonOrphan) + `', ?3, 0, 0, '', 0, 0, '', 0, 0
		FROM ` + sqldb.Rows(1, "id text", "size bigint") + ` WHERE true
		ON CONFLICT (id) DO NOTHING
		RETURNING ` + blobColumns)
	forgetOrphans = register(`DELETE FROM findings WHERE backend = ?2 AND kind = 'orphan'
		AND key IN (SELECT id FROM ` + sqldb.IDs(1) + `)`)
)

// orphanRow is an orphan as a parameter.
type orphanRow struct {
	ID   lethe.ID `json:"id"`
	Size int64    `json:"size"`
}

// CondemnOrphans gives up to a batch of a walk's orphans a row: condemned, due now. Its one
// transaction checks again that the walk has compared everything, and that the pairing is
// the one checked and has no hold. Each orphan must have been seen first by an earlier walk,
// long enough ago, and its name must be as old. An orphan that has a row by now is left to
// that. ErrBackendMismatch while deletes on the backend are held, ErrClock while the clock
// is in doubt, ErrFenced if the walk or the pairing has changed.
func (db *DB) CondemnOrphans(ctx context.Context, r ledger.OrphanRequest) (out ledger.Orphans, err error) {
	err = db.batch(ctx, "condemn orphans of "+r.Backend, func(t *tx) error {
		out = ledger.Orphans{Last: r.After}
		if err := t.mayCondemn(r); err != nil {
			return err
		}
		store, err := t.storeID()
		if err != nil {
			return err
		}
		query, args := ripeOrphans, []any{r.Backend, r.After, r.Walk, t.Now.Add(-r.Grace), bounded(r.Limit)}
		if r.Only != nil {
			query, args = ripeNamed, append(args, sqldb.JSON(r.Only))
		}
		ripe, err := all(t, scanSized, query, args...)
		if err != nil || len(ripe) == 0 {
			return err
		}
		out.Seen, out.Last = len(ripe), ripe[len(ripe)-1].key
		return t.condemnOrphans(r, store, ripe, &out)
	})
	return out, err
}

// mayCondemn checks the conditions of the whole batch, and locks what they depend on.
func (t *tx) mayCondemn(r ledger.OrphanRequest) error {
	if err := t.trustClock(); err != nil {
		return err
	}
	b, err := t.backend(r.Backend)
	if err != nil {
		return err
	}
	doubt, err := t.clockDoubt(r.Backend)
	if err == nil {
		err = r.Check(b, doubt)
	}
	if err != nil {
		return err
	}
	w, err := t.lockWalk(r.Walk)
	if err == nil {
		err = r.CheckWalk(*w)
	}
	return err
}

// trustClock returns ErrClock while the clock is in doubt (docs/protocol.md, rule 13).
func (t *tx) trustClock() error {
	if ahead := t.db.ClockBehind(); ahead > 0 {
		return fmt.Errorf("the machine's clock lies %s behind the ledger's: %w", ahead.Round(time.Second), lethe.ErrClock)
	}
	if ahead := t.db.ClockAhead(); ahead > 0 {
		return fmt.Errorf("the clock was set forward by %s: %w", ahead.Round(time.Second), lethe.ErrClock)
	}
	return nil
}

// sized is a key with its size in bytes.
type sized struct {
	key  string
	size int64
}

func scanSized(r *sql.Rows) (s sized, err error) {
	err = r.Scan(&s.key, &s.size)
	return s, err
}

func (t *tx) storeID() (lethe.ID, error) {
	var s ledger.Store
	err := t.Row(selectStore).Scan(&s.ID, &s.DB, &s.CreatedAt)
	return s.ID, t.Failed(err)
}

func (t *tx) condemnOrphans(r ledger.OrphanRequest, store lethe.ID, ripe []sized, out *ledger.Orphans) (err error) {
	var keys []string
	var list []orphanRow
	for _, o := range ripe {
		id, ok := lethe.ParseBlobKey(store, o.key)
		if !ok || id.Made() > t.Now.Add(-r.Grace) {
			continue
		}
		keys = append(keys, o.key)
		list = append(list, orphanRow{id, o.size})
	}
	if len(list) == 0 {
		return nil
	}
	if out.Blobs, err = all(t, scanBlob, condemnOrphans, sqldb.JSON(list), r.Backend, t.Now); err != nil {
		return err
	}
	sortBlobs(out.Blobs, func(ledger.Blob) lethe.Time { return 0 })
	out.Explained = len(list) - len(out.Blobs)
	for _, b := range out.Blobs {
		t.counts.move(ledger.Move{Backend: b.Backend, From: 0, To: lethe.Condemned, Reason: lethe.ReasonOrphan, Blobs: 1, Bytes: b.Size})
	}
	return t.Must(int64(len(keys)), lethe.ErrFenced, forgetOrphans, sqldb.JSON(keys), r.Backend)
}

var (
	lockedBlob = register(`SELECT state FROM blobs WHERE id = ?1 ` + sqldb.Exclusive)
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
		until := t.Now.Add(t.db.o.LateWindow)
		var state lethe.State
		err := t.Row(lockedBlob, b.Blob).Scan(&state)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return t.insertLate(b, until)
		case err != nil:
			return t.Failed(err)
		}
		_, err = t.Send(keepLate, b.Blob, until)
		return err
	})
}

func (t *tx) insertLate(b ledger.LateBytes, until lethe.Time) error {
	if _, err := t.backend(b.Backend); err != nil {
		return err
	}
	n, err := t.Exec(insertLate, b.Blob, b.Backend, b.Size, t.Now, until)
	if err == nil && n == 1 {
		t.counts.move(ledger.Move{Backend: b.Backend, From: 0, To: lethe.Condemned, Reason: lethe.ReasonUploadOrphan, Blobs: 1, Bytes: b.Size})
	}
	return err
}
