package memmeta

import (
	"context"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/meta"
)

// TallyOrphans recounts the intents, condemned blobs and dead letters of each
// backend beside their counters.
func (db *DB) TallyOrphans(ctx context.Context) ([]meta.Tally, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	var out []meta.Tally
	for _, backend := range db.backends.rows {
		for _, s := range []lethe.State{lethe.Pending, lethe.Condemned, lethe.Dead} {
			t := meta.Tally{Backend: backend.ID, State: s, Counted: backend.totals[s].Blobs, CountedBytes: backend.totals[s].Bytes}
			for _, b := range db.blobs.rows {
				if b.backend == backend && b.State == s {
					t.Rows++
					t.RowBytes += b.Size
				}
			}
			if t != (meta.Tally{Backend: backend.ID, State: s}) {
				out = append(out, t)
			}
		}
	}
	return out, nil
}

// StaleUploadsOn lists uploads with a part on a backend that nobody has touched for
// age, oldest first.
func (db *DB) StaleUploadsOn(ctx context.Context, r meta.StaleRequest) ([]meta.Upload, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	var out []meta.Upload
	for _, u := range db.touched.until(func(u *upload) bool { return u.TouchedAt > db.now.Add(-r.Age) }) {
		on := false
		for _, p := range u.parts.rows {
			b := db.byID[p.BlobID]
			on = on || b != nil && b.backend.ID == r.Backend
		}
		if on {
			out = append(out, u.out())
		}
	}
	return first(out, r.Limit), nil
}
