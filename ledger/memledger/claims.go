package memledger

import (
	"context"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/ledger"
)

// EndClaims ends the claims of a process, or of all if process is "".
func (db *DB) EndClaims(ctx context.Context, process string) (out ledger.EndedClaims, err error) {
	if err := db.enter(ctx); err != nil {
		return out, err
	}
	defer db.leave()
	theirs := func(worker string) bool {
		return process == "" || worker == process || strings.HasPrefix(worker, process+"/")
	}
	claimed := slices.Clone(db.claimed.rows)
	out.Blobs = db.unclaim(slices.DeleteFunc(claimed, func(b *blob) bool { return !theirs(b.Claim.Worker) }))
	for _, m := range db.places.rows {
		if m.fence != 0 && m.due > db.now && theirs(m.worker) {
			db.places.set(m, db.now, 0)
			out.Placements++
		}
	}
	for _, e := range db.events.rows {
		if e.fence != 0 && e.DueAt > db.now && !e.Dead && theirs(e.worker) {
			e.fence, e.DueAt = 0, db.now
			out.Events++
		}
	}
	return out, nil
}
