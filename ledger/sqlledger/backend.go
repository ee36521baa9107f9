package sqlledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

const backendColumns = `id, quota, epoch, intended, accepted, accepted_at, held, held_kind, held_since, draining, created_at`

var (
	selectStore   = register(`SELECT id, db, created_at FROM store`)
	selectLife    = registerFor(sqldb.PostgresName, `SELECT CAST(pg_postmaster_start_time() AS text)`)
	upsertBackend = register(`INSERT INTO backends (` + backendColumns + `)
		VALUES (?1, ?2, ?3, ?4, 0, 0, ?5, ?6, ?7, ?8, ?9)
		ON CONFLICT (id) DO UPDATE SET quota = excluded.quota
		RETURNING ` + backendColumns)
	listBackends  = register(`SELECT ` + backendColumns + ` FROM backends ORDER BY id`)
	selectBackend = register(`SELECT ` + backendColumns + ` FROM backends WHERE id = ?1`)
	advanceEpoch  = register(`UPDATE backends SET intended = ?2, epoch = ?3
		WHERE id = ?1 AND (intended = ?2 OR intended = epoch AND intended < ?2) AND epoch <= ?3 AND ?3 <= ?2`)
	intendEpoch = register(`UPDATE backends SET intended = ?4 WHERE id = ?1 AND intended = ?2 AND epoch = ?3 AND intended < ?4`)
	acceptEpoch = register(`UPDATE backends SET epoch = ?2, accepted = ?2, accepted_at = ?3, held = '', held_kind = '', held_since = 0
		WHERE id = ?1 AND epoch <= ?2 AND ?2 <= intended AND accepted < ?2`)
	holdBackend = register(`UPDATE backends SET held = ?2, held_kind = ?3, held_since = ` + heldSince(2, 4) + ` WHERE id = ?1`)
	rehold      = register(`UPDATE backends SET held = ?5, held_kind = ?6, held_since = ` + heldSince(5, 7) + `
		WHERE id = ?1 AND held = ?2 AND intended = ?3 AND epoch = ?4`)
	holdAllBackends = register(`UPDATE backends SET held = ?1, held_kind = ?2, held_since = ` + heldSince(1, 3))
)

// heldSince is since when the deletes on a backend are held: by the parameters for the new
// reason and for now.
func heldSince(reason, now int) string {
	return fmt.Sprintf(`CASE WHEN ?%d = '' THEN 0 WHEN held = '' THEN ?%d ELSE held_since END`, reason, now)
}

// Identity returns which store and which database this ledger is.
func (db *DB) Identity(ctx context.Context) (s ledger.Store, err error) {
	err = db.read(ctx, "identity", func(t *tx) error {
		if err := t.Row(selectStore).Scan(&s.ID, &s.DB, &s.CreatedAt); err != nil || db.engine.Server == nil {
			return err
		}
		return t.Row(selectLife).Scan(&s.Life)
	})
	return s, err
}

// AddBackend registers a backend. Of a known backend it only updates the quota.
func (db *DB) AddBackend(ctx context.Context, b ledger.Backend) (out ledger.Backend, err error) {
	if b.ID == "" || b.Quota < 0 {
		return b, fmt.Errorf("ledger: add backend %q with quota %d: the name must not be empty and the quota not negative", b.ID, b.Quota)
	}
	err = db.write(ctx, "add backend "+b.ID, func(t *tx) (err error) {
		if err := t.closeBackend(b.ID); err != nil {
			return err
		}
		out, err = scanBackend(t.Row(upsertBackend, b.ID, b.Quota, b.Epoch, b.Intended, b.Held, b.HeldFor, b.HeldSince, flag(b.Draining), t.Now))
		return err
	})
	return out, err
}

// Backends lists all backends by name.
func (db *DB) Backends(ctx context.Context) (out []ledger.Backend, err error) {
	err = db.read(ctx, "backends", func(t *tx) error {
		out, err = all(t, func(r *sql.Rows) (ledger.Backend, error) { return scanBackend(r) }, listBackends)
		return err
	})
	return out, err
}

// SetEpoch advances (intended, epoch) of a backend. ErrFenced if either would go back, if
// epoch would exceed intended, or if intended would change before the previous one is
// confirmed. Another process has advanced it then.
func (db *DB) SetEpoch(ctx context.Context, backend string, intended, epoch int64) error {
	return db.write(ctx, "set epoch of backend "+backend, func(t *tx) error {
		if _, err := t.lockBackend(backend); err != nil {
			return err
		}
		return t.Must(1, lethe.ErrFenced, advanceEpoch, backend, intended, epoch)
	})
}

// IntendEpoch notes the epoch under which a person is about to accept a backend, in place of
// the intended one. ErrFenced unless it is beyond that, and epoch and intended are as seen.
func (db *DB) IntendEpoch(ctx context.Context, seen ledger.Backend, epoch int64) error {
	return db.write(ctx, "intend epoch of backend "+seen.ID, func(t *tx) error {
		if _, err := t.lockBackend(seen.ID); err != nil {
			return err
		}
		return t.Must(1, lethe.ErrFenced, intendEpoch, seen.ID, seen.Intended, seen.Epoch, epoch)
	})
}

// AcceptEpoch pairs a backend with this ledger, as a person has decided, under an epoch that
// is stored there and is beyond all others. It also releases the hold on deletes. ErrFenced
// unless the epoch was intended, none beyond it is confirmed, and it was not accepted before.
func (db *DB) AcceptEpoch(ctx context.Context, backend string, epoch int64) error {
	return db.write(ctx, "accept backend "+backend, func(t *tx) error {
		if _, err := t.lockBackend(backend); err != nil {
			return err
		}
		return t.Must(1, lethe.ErrFenced, acceptEpoch, backend, epoch, t.Now)
	})
}

// HoldBackend holds the deletes on a backend for a person, with a reason (docs/protocol.md,
// rule 13; ledger.Backend.HeldByPerson). With an empty reason it releases them, whatever they were held for. Claims made
// before may still be acted on and settled.
func (db *DB) HoldBackend(ctx context.Context, backend, reason string) error {
	return db.write(ctx, "hold backend "+backend, func(t *tx) error {
		b, err := t.lockBackend(backend)
		if err != nil {
			return err
		}
		s := b.HeldByPerson(reason)
		return t.Must(1, noBackend(backend), holdBackend, backend, s.Reason, s.For, t.Now)
	})
}

// ChangeHold holds the deletes on a backend for a routine, or with the zero hold releases
// them. ErrFenced unless the backend's hold and epoch are still as seen, so that no other
// decision is undone.
func (db *DB) ChangeHold(ctx context.Context, seen ledger.Backend, s ledger.BackendHold) error {
	return db.write(ctx, "change the hold of backend "+seen.ID, func(t *tx) error {
		if _, err := t.lockBackend(seen.ID); err != nil {
			return err
		}
		if err := t.Must(1, lethe.ErrFenced, rehold, seen.ID, seen.Held, seen.Intended, seen.Epoch, s.Reason, s.For, t.Now); err != nil || !s.Doubts() {
			return err
		}
		_, err := t.Send(distrust, seen.ID, t.Now)
		return err
	})
}

// backend returns a backend's row: ErrBackendMismatch if there is none. In a write the row
// cannot change before the transaction ends.
func (t *tx) backend(id string) (ledger.Backend, error) {
	switch {
	case t.concurrentWriters():
		return t.oneBackend(id, gatedBackend, id, gateOf("backend", id))
	case t.Writes:
		return t.oneBackend(id, sharedBackend, id)
	}
	return t.oneBackend(id, selectBackend, id)
}

// lockBackend returns a backend's row and locks the backend until the transaction ends.
func (t *tx) lockBackend(id string) (ledger.Backend, error) {
	if err := t.closeBackend(id); err != nil {
		return ledger.Backend{}, err
	}
	return t.oneBackend(id, lockedBackend, id)
}

// oneBackend returns a backend's row by a query that may lock it.
func (t *tx) oneBackend(id, query string, args ...any) (ledger.Backend, error) {
	b, err := scanBackend(t.Row(query, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return b, noBackend(id)
	}
	return b, err
}

func noBackend(id string) error {
	return fmt.Errorf("the ledger knows no backend %q: %w", id, lethe.ErrBackendMismatch)
}

func scanBackend(r sqldb.Scanner) (b ledger.Backend, err error) {
	err = r.Scan(&b.ID, &b.Quota, &b.Epoch, &b.Intended, &b.Accepted, &b.AcceptedAt, &b.Held, &b.HeldFor, &b.HeldSince, &b.Draining, &b.CreatedAt)
	return b, err
}
