package sqladopt

import (
	"context"
	"time"
)

const (
	oldReceipts = `DELETE FROM {lethe}receipts WHERE id IN (
		SELECT r.id FROM {lethe}receipts r WHERE r.at < ?1 ORDER BY r.at LIMIT ?2 {locked})`
	// oldRuns leaves the newest success of each routine: whoever runs alone goes by it.
	oldRuns = `DELETE FROM {lethe}runs WHERE id IN (
		SELECT r.id FROM {lethe}runs r WHERE r.finished_at <> 0 AND r.started_at < ?1
			AND EXISTS (SELECT 1 FROM {lethe}runs n WHERE n.routine = r.routine AND n.outcome = 'ok' AND n.started_at > r.started_at)
		ORDER BY r.started_at LIMIT ?2 {locked})`
)

// Prune removes up to limit receipts that are older than receipts, and as many runs that
// are older than runs, and returns how many.
func (db *DB) Prune(ctx context.Context, receipts, runs time.Duration, limit int) (n int, err error) {
	err = db.write(ctx, "prune", func(t *tx) error {
		n = 0
		for _, p := range []struct {
			text string
			age  time.Duration
		}{{oldReceipts, receipts}, {oldRuns, runs}} {
			gone, err := t.exec(p.text, t.now.Add(-p.age), limit)
			if err != nil {
				return err
			}
			n += int(gone)
		}
		return nil
	})
	return n, err
}
