package memledger

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// AddBackend registers a backend or updates its quota.
func (db *DB) AddBackend(ctx context.Context, b ledger.Backend) (ledger.Backend, error) {
	if b.ID == "" || b.Quota < 0 {
		return b, fmt.Errorf("memledger: add backend %q with quota %d: the name must not be empty and the quota not negative", b.ID, b.Quota)
	}
	if err := db.enter(ctx); err != nil {
		return b, err
	}
	defer db.mu.Unlock()
	if have := db.backend(b.ID); have != nil {
		have.Quota = b.Quota
		return have.Backend, nil
	}
	row := &backend{Backend: b, due: table[*blob]{order: blobsByDue}}
	row.CreatedAt = db.now
	for _, s := range lethe.States {
		row.totals[s] = ledger.Total{Backend: b.ID, State: s}
	}
	db.backends.put(row)
	return row.Backend, nil
}

// Backends lists all backends by name.
func (db *DB) Backends(ctx context.Context) ([]ledger.Backend, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	out := make([]ledger.Backend, len(db.backends.rows))
	for i, b := range db.backends.rows {
		out[i] = b.Backend
	}
	return out, nil
}

// SetEpoch advances (intended, epoch): ErrFenced if either would go back, if epoch would
// exceed intended, or if intended would change before the previous one is confirmed.
func (db *DB) SetEpoch(ctx context.Context, backend string, intended, epoch int64) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	b := db.backend(backend)
	if b == nil {
		return noBackend(backend)
	}
	if intended < b.Intended || intended > b.Intended && b.Intended != b.Epoch || epoch < b.Epoch || epoch > intended {
		return fmt.Errorf("memledger: set epoch %d, %d of backend %s at %d, %d: %w", intended, epoch, backend, b.Intended, b.Epoch, lethe.ErrFenced)
	}
	b.Intended, b.Epoch = intended, epoch
	return nil
}

// IntendEpoch notes the epoch under which a backend is about to be accepted: ErrFenced.
func (db *DB) IntendEpoch(ctx context.Context, seen ledger.Backend, epoch int64) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	b := db.backend(seen.ID)
	if b == nil {
		return noBackend(seen.ID)
	}
	if b.Intended != seen.Intended || b.Epoch != seen.Epoch || epoch <= b.Intended {
		return fmt.Errorf("memledger: intend epoch %d of backend %s at %d, %d: %w", epoch, seen.ID, b.Intended, b.Epoch, lethe.ErrFenced)
	}
	b.Intended = epoch
	return nil
}

// AcceptEpoch pairs a backend with this ledger under an epoch that was intended for it, and
// releases the hold on deletes: ErrFenced.
func (db *DB) AcceptEpoch(ctx context.Context, backend string, epoch int64) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	b := db.backend(backend)
	if b == nil {
		return noBackend(backend)
	}
	if epoch < b.Epoch || epoch > b.Intended || epoch <= b.Accepted {
		return fmt.Errorf("memledger: accept epoch %d of backend %s at %d, %d: %w", epoch, backend, b.Intended, b.Epoch, lethe.ErrFenced)
	}
	b.Epoch, b.Accepted, b.AcceptedAt = epoch, epoch, db.now
	b.hold(ledger.BackendHold{}, db.now)
	return nil
}

// HoldBackend holds the deletes on a backend for a person, or with an empty reason releases
// them (ledger.Backend.HeldByPerson).
func (db *DB) HoldBackend(ctx context.Context, backend, reason string) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	b := db.backend(backend)
	if b == nil {
		return noBackend(backend)
	}
	b.hold(b.HeldByPerson(reason), db.now)
	return nil
}

func (b *backend) hold(s ledger.BackendHold, now lethe.Time) {
	switch {
	case s.Reason == "":
		b.HeldSince = 0
	case b.Held == "":
		b.HeldSince = now
	}
	b.Held, b.HeldFor = s.Reason, s.For
}

// ChangeHold changes the hold on the deletes of a backend, if the backend is as seen:
// ErrFenced.
func (db *DB) ChangeHold(ctx context.Context, seen ledger.Backend, s ledger.BackendHold) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	b := db.backend(seen.ID)
	if b == nil {
		return noBackend(seen.ID)
	}
	if b.Held != seen.Held || b.Intended != seen.Intended || b.Epoch != seen.Epoch {
		return fmt.Errorf("memledger: change the hold of backend %s: %w", seen.ID, lethe.ErrFenced)
	}
	b.hold(s, db.now)
	if s.Doubts() {
		b.trustedSince = db.now
	}
	return nil
}

// backend returns a backend by name, nil if there is none.
func (db *DB) backend(id string) *backend {
	for _, b := range db.backends.rows {
		if b.ID == id {
			return b
		}
	}
	return nil
}

func noBackend(id string) error {
	return fmt.Errorf("memledger: the ledger knows no backend %q: %w", id, lethe.ErrBackendMismatch)
}
