package memledger

import (
	"context"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// TallyOrphans recounts the intents, condemned blobs and dead letters of each
// backend beside their counters.
func (db *DB) TallyOrphans(ctx context.Context) ([]ledger.Tally, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	var out []ledger.Tally
	for _, backend := range db.backends.rows {
		for _, s := range []lethe.State{lethe.Pending, lethe.Condemned, lethe.Dead} {
			t := ledger.Tally{Backend: backend.ID, State: s, Counted: backend.totals[s].Blobs, CountedBytes: backend.totals[s].Bytes}
			for _, b := range db.blobs.rows {
				if b.backend == backend && b.State == s {
					t.Rows++
					t.RowBytes += b.Size
				}
			}
			if t != (ledger.Tally{Backend: backend.ID, State: s}) {
				out = append(out, t)
			}
		}
	}
	return out, nil
}
