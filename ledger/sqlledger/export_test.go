package sqlledger

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

// viewTotals counts the rows of the operators' views, in the form in which selectTotals
// returns the counters.
var viewTotals = register(`SELECT backend_name, state, sum(n), sum(bytes) FROM (
		SELECT backend_name, 1 AS state, count(*) AS n, sum(size_bytes) AS bytes FROM pending_objects GROUP BY backend_name
		UNION ALL SELECT backend_name, 2, count(*), sum(size_bytes) FROM object_locations GROUP BY backend_name
		UNION ALL SELECT '', 2, count(*), sum(length(head) + length(tail)) FROM bodies HAVING count(*) > 0
		UNION ALL SELECT backend_name, 3, count(*), sum(size_bytes) FROM cleanup_queue GROUP BY backend_name
		UNION ALL SELECT backend_name, 4, count(*), sum(size_bytes) FROM cleanup_dlq GROUP BY backend_name) AS v
	GROUP BY backend_name, state ORDER BY backend_name, state`)

// ViewTotals counts the rows of the views cleanup_queue, cleanup_dlq, pending_objects and
// object_locations by backend and state, and of the bodies. It reads every blob. The result
// equals that of Totals.
func (db *DB) ViewTotals(ctx context.Context) (totals []ledger.Total, err error) {
	err = db.walk(ctx, "views", func(t *tx) error {
		totals, err = all(t, scanTotal, viewTotals)
		return err
	})
	return totals, err
}

// Secret returns the value stored under a name, empty if there is none: ErrSealed.
func (db *DB) Secret(ctx context.Context, name string) (value string, err error) {
	err = db.read(ctx, "secret "+name, func(t *tx) error {
		list, err := all(t, sqldb.One[string], selectSecret, name)
		if len(list) == 1 {
			value, err = db.sealing.open(sharedSecret(name), list[0])
		}
		return err
	})
	return value, err
}

// RunTwice lets every other COMMIT and every other read fail as after a race, so that
// transactions run again: their bodies must set all results anew.
func (db *DB) RunTwice() {
	again := &pgconn.PgError{Code: "40001", Message: "the test lets it run again"}
	for _, r := range db.engine.Server.Runners {
		var n, looks atomic.Int64
		r.Commit = func(ctx context.Context, s *sqldb.Session) error {
			if n.Add(1)%2 == 1 {
				return again
			}
			return s.Commit(ctx)
		}
		r.Looked = func() error {
			if looks.Add(1)%2 == 1 {
				return again
			}
			return nil
		}
	}
}
