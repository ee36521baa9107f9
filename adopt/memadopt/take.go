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
	claim := db.claim(limit)
	for i := range claim.Rows {
		claim.Rows[i].Copies = nil // they were not dropped yet
	}
	if out, _, err = db.settle(claim, after); err != nil {
		for _, r := range db.claimed(claim) {
			r.giveBack()
		}
		return out, err
	}
	return out, nil
}
