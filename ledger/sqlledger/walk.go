package sqlledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

// walksKept is how many finished walks of each backend are kept.
const walksKept = 30

const walkColumns = `id, backend, started_at, saved_at, finished_at, place, outcome, counts`

var (
	openWalk   = register(`SELECT ` + walkColumns + ` FROM walks WHERE backend = ?1 AND finished_at = 0 ` + sqldb.Exclusive)
	lockedWalk = register(`SELECT ` + walkColumns + ` FROM walks WHERE id = ?1 AND finished_at = 0 ` + sqldb.Exclusive)
	insertWalk = register(`INSERT INTO walks (` + walkColumns + `) VALUES (?1, ?2, ?3, ?3, 0, '', '', '{}')
		ON CONFLICT DO NOTHING`)
	moveWalk = register(`UPDATE walks SET place = ?3, saved_at = ?4, counts = ?5
		WHERE id = ?1 AND place = ?2 AND finished_at = 0`)
	endWalk  = register(`UPDATE walks SET saved_at = ?2, finished_at = ?2, outcome = ?3, counts = ?4 WHERE id = ?1 AND finished_at = 0`)
	oldWalks = register(`DELETE FROM walks WHERE backend = ?1 AND finished_at <> 0 AND id < (
		SELECT id FROM walks WHERE backend = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`)
	pageWalks = register(`SELECT ` + walkColumns + ` FROM walks WHERE backend = ?1 ORDER BY id DESC LIMIT ?2`)
	pageStubs = register(`SELECT id, backend, state, size FROM blobs WHERE id > ?1 ORDER BY id LIMIT ?2`)
)

// BeginWalk begins a walk over a backend, or returns the interrupted one: ErrBackendMismatch
// for an unknown backend.
func (db *DB) BeginWalk(ctx context.Context, s ledger.WalkStart) (w ledger.Walk, err error) {
	err = db.write(ctx, "begin walk over "+s.Backend, func(t *tx) error {
		if _, err := t.backend(s.Backend); err != nil {
			return err
		}
		open, err := t.oneWalk(openWalk, s.Backend)
		if err != nil {
			return err
		}
		if open != nil && t.Now.Sub(open.StartedAt) < s.GiveUp {
			w = *open
			return nil
		}
		if open != nil {
			if err := t.Must(1, lethe.ErrFenced, endWalk, open.ID, t.Now, "given up: it was cut off too long ago", sqldb.JSON(open.Counts)); err != nil {
				return err
			}
		}
		n, err := t.Exec(insertWalk, s.ID, s.Backend, t.Now)
		if err == nil && n == 0 {
			err = sqldb.ErrAgain // another one began it at the same time
		}
		w = ledger.Walk{ID: s.ID, Backend: s.Backend, StartedAt: t.Now, SavedAt: t.Now}
		return err
	})
	return w, err
}

// SaveWalk advances a walk: ErrFenced if it has ended, or is not at From.
func (db *DB) SaveWalk(ctx context.Context, s ledger.WalkStep) error {
	return db.write(ctx, "save walk "+string(s.ID), func(t *tx) error {
		return t.Must(1, lethe.ErrFenced, moveWalk, s.ID, s.From, s.To, t.Now, sqldb.JSON(s.Counts))
	})
}

// Walks returns the newest walks over a backend, newest first.
func (db *DB) Walks(ctx context.Context, backend string, limit int) (out []ledger.Walk, err error) {
	err = db.read(ctx, "walks over "+backend, func(t *tx) error {
		out, err = all(t, scanWalk, pageWalks, backend, bounded(limit))
		return err
	})
	return out, err
}

// BlobStubs returns a page of all blobs after an id, in order of id.
func (db *DB) BlobStubs(ctx context.Context, after lethe.ID, limit int) (out []ledger.Stub, err error) {
	err = db.read(ctx, "page of blobs", func(t *tx) error {
		out, err = all(t, func(r *sql.Rows) (s ledger.Stub, err error) {
			err = r.Scan(&s.ID, &s.Backend, &s.State, &s.Size)
			return s, err
		}, pageStubs, after, bounded(limit))
		return err
	})
	return out, err
}

// oneWalk returns the walk of a query, nil if there is none.
func (t *tx) oneWalk(query string, args ...any) (*ledger.Walk, error) {
	list, err := all(t, scanWalk, query, args...)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// lockWalk locks a walk in progress: ErrFenced.
func (t *tx) lockWalk(id lethe.ID) (*ledger.Walk, error) {
	w, err := t.oneWalk(lockedWalk, id)
	if err == nil && w == nil {
		err = fmt.Errorf("walk %s is not in progress: %w", id, lethe.ErrFenced)
	}
	return w, err
}

func scanWalk(r *sql.Rows) (w ledger.Walk, err error) {
	var counts string
	if err := r.Scan(&w.ID, &w.Backend, &w.StartedAt, &w.SavedAt, &w.FinishedAt, &w.Place, &w.Outcome, &counts); err != nil {
		return w, err
	}
	if err := json.Unmarshal([]byte(counts), &w.Counts); err != nil {
		return w, fmt.Errorf("counts of walk %s: %w (%w)", w.ID, lethe.ErrCorrupt, err)
	}
	return w, nil
}
