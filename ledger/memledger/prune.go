package memledger

import (
	"context"
	"slices"

	"github.com/lethe-storage/lethe/ledger"
)

// Prune removes old outcomes, old runs and deleted buckets, up to limit rows.
func (db *DB) Prune(ctx context.Context, limit int) (int, error) {
	if err := db.enter(ctx); err != nil {
		return 0, err
	}
	defer db.mu.Unlock()
	old := db.opsByAt.until(func(o *ledger.Outcome) bool { return o.At > db.now.Add(-db.opts.OpsKept) })
	n := 0
	for _, o := range slices.Clone(first(old, limit)) {
		db.opsByAt.drop(o)
		delete(db.ops, o.Op)
		n++
	}
	for _, r := range db.oldRuns() {
		if n == limit && limit > 0 {
			return n, nil
		}
		db.runs.drop(r)
		n++
	}
	for _, b := range slices.Clone(db.buckets.rows) {
		if n == limit && limit > 0 {
			return n, nil
		}
		if b.Name == "" && len(b.byKey) == 0 && !db.deferredIn(b) {
			db.forgetDeferred(b)
			db.buckets.drop(b)
			n++
		}
	}
	return n, nil
}
