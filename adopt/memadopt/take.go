package memadopt

import (
	"context"
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

var _ adopt.Taker = (*DB)(nil)

// Take implements adopt.Taker. It fails if the application has a content locked.
func (db *DB) Take(_ context.Context, limit int, after time.Duration) (out adopt.Settled, err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	claim, batches := db.claim(limit), len(db.again)
	if out, err = db.settle(claim, after); err != nil {
		for _, r := range db.claimed(claim) {
			r.giveBack()
		}
		return out, err
	}
	if after > 0 && len(db.again) > batches { // the copies were not dropped yet: at once as well
		db.ids++
		db.again = append(db.again, again{adopt.Again{ID: db.ids, Keys: db.again[batches].Keys}, claim.At})
	}
	return out, nil
}
