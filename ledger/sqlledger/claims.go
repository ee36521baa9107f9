package sqlledger

import (
	"context"

	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

// ofProcess selects rows claimed by a process, which numbers its workers, or by any if it is empty.
const ofProcess = `fence <> 0 AND (?1 = '' OR worker = ?1 OR substr(worker, 1, length(?1) + 1) = ?1 || '/')`

var (
	endBlobClaims = register(`WITH theirs AS MATERIALIZED (SELECT id FROM blobs WHERE ` + ofProcess + ` ` + sqldb.Locked + `)
		UPDATE blobs SET worker = '', fence = 0, claimed_at = 0 FROM theirs
		WHERE blobs.id = theirs.id RETURNING blobs.backend, blobs.state`)
	endPlaceClaims = register(`WITH theirs AS MATERIALIZED (SELECT id FROM placements WHERE due_at > ?2 AND ` + ofProcess + ` ` + sqldb.Locked + `)
		UPDATE placements SET worker = '', fence = 0, due_at = ?2 FROM theirs WHERE placements.id = theirs.id`)
	endEventClaims = register(`WITH theirs AS MATERIALIZED (
			SELECT no FROM events WHERE target IN (SELECT name FROM event_targets) AND dead = 0 AND due_at > ?2 AND ` + ofProcess + ` ` + sqldb.Locked + `)
		UPDATE events SET worker = '', fence = 0, due_at = ?2 FROM theirs WHERE events.no = theirs.no`)
)

// EndClaims ends the claims of a process that is gone, or of all if process is "", for one that
// has the ledger to itself: until their grace is over, nobody would do what it had claimed. If it
// was only paused, it is fenced.
func (db *DB) EndClaims(ctx context.Context, process string) (out ledger.EndedClaims, err error) {
	err = db.batch(ctx, "end claims of "+process, func(t *tx) error {
		out = ledger.EndedClaims{}
		blobs, err := all(t, scanRecovered, endBlobClaims, process)
		if err != nil {
			return err
		}
		out.Blobs = sumRecovered(blobs)
		if out.Placements, err = t.Exec(endPlaceClaims, process, t.Now); err != nil {
			return err
		}
		out.Events, err = t.Exec(endEventClaims, process, t.Now)
		return err
	})
	return out, err
}
