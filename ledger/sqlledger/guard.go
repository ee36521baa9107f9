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

const backendColumns = `id, quota, epoch, intended, accepted, held, held_kind, draining, created_at`

var (
	selectStore   = register(`SELECT id, db, created_at FROM store`)
	selectLife    = registerFor(sqldb.PostgresName, `SELECT CAST(pg_postmaster_start_time() AS text)`)
	upsertBackend = register(`INSERT INTO backends (` + backendColumns + `)
		VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8)
		ON CONFLICT (id) DO UPDATE SET quota = excluded.quota
		RETURNING ` + backendColumns)
	listBackends  = register(`SELECT ` + backendColumns + ` FROM backends ORDER BY id`)
	selectBackend = register(`SELECT ` + backendColumns + ` FROM backends WHERE id = ?1`)
	advanceEpoch  = register(`UPDATE backends SET intended = ?2, epoch = ?3
		WHERE id = ?1 AND (intended = ?2 OR intended = epoch AND intended < ?2) AND epoch <= ?3 AND ?3 <= ?2`)
	acceptEpoch = register(`UPDATE backends SET intended = ?2, epoch = ?2, accepted = ?2, held = '', held_kind = ''
		WHERE id = ?1 AND intended < ?2`)
	holdBackend = register(`UPDATE backends SET held = ?2, held_kind = ?3 WHERE id = ?1`)
	rehold      = register(`UPDATE backends SET held = ?5, held_kind = ?6
		WHERE id = ?1 AND held = ?2 AND intended = ?3 AND epoch = ?4`)
	holdAllBackends = register(`UPDATE backends SET held = ?1, held_kind = ?2`)
)

// Identity says which store and which database this ledger is.
func (db *DB) Identity(ctx context.Context) (s ledger.Store, err error) {
	err = db.read(ctx, "identity", func(t *tx) error {
		if err := t.row(selectStore).Scan(&s.ID, &s.DB, &s.CreatedAt); err != nil || db.pg == nil {
			return err
		}
		return t.row(selectLife).Scan(&s.Life)
	})
	return s, err
}

// AddBackend registers a backend. If it is known already, its quota is updated
// and nothing else.
func (db *DB) AddBackend(ctx context.Context, b ledger.Backend) (ledger.Backend, error) {
	if b.ID == "" || b.Quota < 0 {
		return b, fmt.Errorf("ledger: add backend %q with quota %d: the name must not be empty and the quota not negative", b.ID, b.Quota)
	}
	err := db.write(ctx, "add backend "+b.ID, func(t *tx) (err error) {
		if err := t.closeBackend(b.ID); err != nil {
			return err
		}
		b, err = scanBackend(t.row(upsertBackend, b.ID, b.Quota, b.Epoch, b.Intended, b.Held, b.HeldFor, flag(b.Draining), t.now))
		return err
	})
	return b, err
}

// Backends lists all backends by name.
func (db *DB) Backends(ctx context.Context) (out []ledger.Backend, err error) {
	err = db.read(ctx, "backends", func(t *tx) error {
		out, err = all(t, func(r *sql.Rows) (ledger.Backend, error) { return scanBackend(r) }, listBackends)
		return err
	})
	return out, err
}

// SetEpoch moves (intended, epoch) of a backend forward. ErrFenced if either
// would go back, if the epoch would pass the intended one, or another one be intended
// before that one is confirmed: somebody else advanced it meanwhile.
func (db *DB) SetEpoch(ctx context.Context, backend string, intended, epoch int64) error {
	return db.write(ctx, "set epoch of backend "+backend, func(t *tx) error {
		if _, err := t.holdBackend(backend); err != nil {
			return err
		}
		return t.must(1, lethe.ErrFenced, advanceEpoch, backend, intended, epoch)
	})
}

// AcceptEpoch gives a backend to this ledger, as a person has decided, under an epoch that
// lies there and is beyond all others, and lets deletes go on: ErrFenced unless it is
// beyond what the ledger intends.
func (db *DB) AcceptEpoch(ctx context.Context, backend string, epoch int64) error {
	return db.write(ctx, "accept backend "+backend, func(t *tx) error {
		if _, err := t.holdBackend(backend); err != nil {
			return err
		}
		return t.must(1, lethe.ErrFenced, acceptEpoch, backend, epoch)
	})
}

// HoldBackend stops the deletes on a backend for a person, with a reason (docs/protocol.md, rule
// 13), or lets them go on with an empty one, whatever they were held for. Claims that are out already may still be
// acted on and settled.
func (db *DB) HoldBackend(ctx context.Context, backend, reason string) error {
	return db.write(ctx, "hold backend "+backend, func(t *tx) error {
		if err := t.closeBackend(backend); err != nil {
			return err
		}
		s := ledger.ByPerson(reason)
		return t.must(1, noBackend(backend), holdBackend, backend, s.Reason, s.For)
	})
}

// ChangeHold stops the deletes on a backend for who has looked, or with the zero hold
// lets them go on: ErrFenced unless the backend's hold and epoch still are what was
// seen, so that nobody undoes what another decided meanwhile.
func (db *DB) ChangeHold(ctx context.Context, seen ledger.Backend, s ledger.BackendHold) error {
	return db.write(ctx, "change the hold of backend "+seen.ID, func(t *tx) error {
		if _, err := t.holdBackend(seen.ID); err != nil {
			return err
		}
		if err := t.must(1, lethe.ErrFenced, rehold, seen.ID, seen.Held, seen.Intended, seen.Epoch, s.Reason, s.For); err != nil || !s.Doubts() {
			return err
		}
		_, err := t.exec(distrust, seen.ID, t.now)
		return err
	})
}

// backend reads one backend's row, which does not change before a transaction
// ends that writes: ErrBackendMismatch if there is none.
func (t *tx) backend(id string) (ledger.Backend, error) {
	switch {
	case t.crowded():
		return t.oneBackend(id, gatedBackend, id, gateOf("backend", id))
	case t.writes:
		return t.oneBackend(id, sharedBackend, id)
	}
	return t.oneBackend(id, selectBackend, id)
}

// holdBackend reads a backend's row and keeps all others from using it until the
// transaction ends.
func (t *tx) holdBackend(id string) (ledger.Backend, error) {
	if err := t.closeBackend(id); err != nil {
		return ledger.Backend{}, err
	}
	return t.oneBackend(id, heldBackend, id)
}

// oneBackend reads one backend's row by a query that may lock it.
func (t *tx) oneBackend(id, query string, args ...any) (ledger.Backend, error) {
	b, err := scanBackend(t.row(query, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return b, noBackend(id)
	}
	return b, err
}

func noBackend(id string) error {
	return fmt.Errorf("the ledger knows no backend %q: %w", id, lethe.ErrBackendMismatch)
}

func scanBackend(r sqldb.Scanner) (b ledger.Backend, err error) {
	err = r.Scan(&b.ID, &b.Quota, &b.Epoch, &b.Intended, &b.Accepted, &b.Held, &b.HeldFor, &b.Draining, &b.CreatedAt)
	return b, err
}
