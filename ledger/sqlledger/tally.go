package sqlledger

import (
	"context"
	"database/sql"

	"github.com/lethe-storage/lethe/ledger"
)

// tallyOrphans reads only indexes: of intents, due rows, claims and dead letters.
var tallyOrphans = register(`SELECT backend, state, sum(rn), sum(rb), sum(cn), sum(cb) FROM (
		SELECT backend, state, count(*) AS rn, sum(size) AS rb, 0 AS cn, 0 AS cb FROM blobs WHERE state = 1 AND fence = 0 GROUP BY backend, state
		UNION ALL SELECT backend, state, count(*), sum(size), 0, 0 FROM blobs WHERE state = 3 AND fence = 0 GROUP BY backend, state
		UNION ALL SELECT backend, state, count(*), sum(size), 0, 0 FROM blobs WHERE state = 4 GROUP BY backend, state
		UNION ALL SELECT backend, state, count(*), sum(size), 0, 0 FROM blobs WHERE fence <> 0 AND state <> 4 GROUP BY backend, state
		UNION ALL SELECT backend, state, 0, 0, sum(n), sum(bytes) FROM blob_counters WHERE state <> 2 GROUP BY backend, state) AS u
	GROUP BY backend, state HAVING sum(rn) <> 0 OR sum(rb) <> 0 OR sum(cn) <> 0 OR sum(cb) <> 0 ORDER BY backend, state`)

// TallyOrphans recounts the intents, condemned blobs and dead letters of each backend from
// their indexes, and returns them beside their counters: orphan bytes and reservations. One
// snapshot makes the comparison exact. The cost grows with the waiting rows, not the live
// ones. States without rows are left out.
func (db *DB) TallyOrphans(ctx context.Context) (list []ledger.Tally, err error) {
	err = db.walk(ctx, "tally of orphan bytes", func(t *tx) error {
		list, err = all(t, func(r *sql.Rows) (x ledger.Tally, err error) {
			err = r.Scan(&x.Backend, &x.State, &x.Rows, &x.RowBytes, &x.Counted, &x.CountedBytes)
			return x, err
		}, tallyOrphans)
		return err
	})
	return list, err
}
