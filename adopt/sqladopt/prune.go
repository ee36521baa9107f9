package sqladopt

import (
	"context"
	"time"
)

// oldRuns keeps the newest success of each routine, on which exclusive runs
// depend.
const oldRuns = `DELETE FROM {lethe}runs WHERE id IN (
		SELECT r.id FROM {lethe}runs r WHERE r.finished_at <> 0 AND r.started_at < ?1
			AND EXISTS (SELECT 1 FROM {lethe}runs n WHERE n.routine = r.routine AND n.outcome = 'ok' AND n.started_at > r.started_at)
		ORDER BY r.started_at LIMIT ?2 {locked})`

// Prune deletes up to limit runs that are older than age, and returns how many.
func (db *DB) Prune(ctx context.Context, age time.Duration, limit int) (n int, err error) {
	err = db.write(ctx, "prune", func(t *tx) error {
		gone, err := t.exec(oldRuns, t.now.Add(-age), limit)
		n = int(gone)
		return err
	})
	return n, err
}
