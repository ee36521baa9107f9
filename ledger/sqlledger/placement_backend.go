package sqlledger

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger"
)

var (
	setDraining = register(`UPDATE backends SET draining = ?2 WHERE id = ?1`)
	storedOn    = register(`SELECT state, sum(n), sum(bytes) FROM blob_counters WHERE backend = ?1
		GROUP BY state HAVING sum(n) <> 0 ORDER BY state`)
	dropCounters      = register(`DELETE FROM blob_counters WHERE backend = ?1`)
	dropBackendLimits = register(`DELETE FROM limits WHERE kind IN ('clock', 'deletes') AND subject = ?1`)
	removeBackend     = register(`DELETE FROM backends WHERE id = ?1 AND draining = 1`)
)

// SetDraining begins or ends the draining of a backend, during which no write begins there:
// ErrBackendMismatch for an unknown backend.
func (db *DB) SetDraining(ctx context.Context, backend string, draining bool) error {
	return db.write(ctx, "drain backend "+backend, func(t *tx) error {
		if err := t.closeBackend(backend); err != nil {
			return err
		}
		return t.Must(1, noBackend(backend), setDraining, backend, flag(draining))
	})
}

// admits returns ErrNoRoom for new bytes on a backend that is draining, or beyond its quota.
func (t *tx) admits(b ledger.Backend, n int64) error {
	if b.Draining {
		return fmt.Errorf("backend %s is being drained: %w", b.ID, lethe.ErrNoRoom)
	}
	return t.fits(b, n)
}

// RemoveBackend removes a drained backend: ErrBackendMismatch for an unknown one,
// ErrBackendInUse unless it is draining and no blob has a row there. The error names what is
// left.
func (db *DB) RemoveBackend(ctx context.Context, backend string) error {
	return db.write(ctx, "remove backend "+backend, func(t *tx) error {
		b, err := t.lockBackend(backend)
		if err != nil {
			return err
		}
		if !b.Draining {
			return fmt.Errorf("%w: %s is not being drained; drain it first", lethe.ErrBackendInUse, backend)
		}
		if err := t.drained(backend); err != nil {
			return err
		}
		if _, err := t.Send(dropCounters, backend); err != nil {
			return err
		}
		if err := t.forgetWalks(backend); err != nil {
			return err
		}
		if err := t.forgetBackendLimits(backend); err != nil {
			return err
		}
		return t.Must(1, lethe.ErrFenced, removeBackend, backend)
	})
}

// forgetBackendLimits removes a backend's counts, limits and clock doubts. Nothing compares its
// clock any more, so a doubt would never end.
func (t *tx) forgetBackendLimits(backend string) error {
	for _, k := range []ledger.LimitKind{ledger.LimitClock, ledger.LimitDeletes} {
		if _, err := t.limitState(k, backend); err != nil {
			return err
		}
	}
	_, err := t.Send(dropBackendLimits, backend)
	return err
}

// drained returns ErrBackendInUse if blobs have rows on the backend.
func (t *tx) drained(backend string) error {
	left, err := all(t, func(r *sql.Rows) (string, error) {
		var state lethe.State
		var n, bytes int64
		err := r.Scan(&state, &n, &bytes)
		return fmt.Sprintf("%d %s of %s", n, state, words.Plural(bytes, "byte", "bytes")), err
	}, storedOn, backend)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("%w: %s still holds %s", lethe.ErrBackendInUse, backend, strings.Join(left, ", "))
	}
	return nil
}
