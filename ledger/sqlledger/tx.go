package sqlledger

import (
	"database/sql"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
)

// register and registerFor add a statement, for both engines or for one, and return it. They
// stand beside the functions that run it; a test prepares each.
var register, registerFor = engine.Register, engine.RegisterFor

// tx is a transition in progress.
type tx struct {
	*engine.Tx
	db        *DB
	counts    counters
	op        lethe.ID          // the operation that it records, if any
	sentOp    *engine.Sent      // of a record that may be there already
	locked    map[lethe.ID]bool // contents that are locked
	condemned []CondemnedBlob   // blobs that it condemned
}

// all runs a query and collects its rows.
func all[T any](t *tx, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := t.Query(query, args...)
	if err != nil {
		return nil, err
	}
	out, err := sqldb.Collect(rows, scan)
	return out, t.Failed(err)
}

// flag stores a bool.
func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
