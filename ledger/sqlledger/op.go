package sqlledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

var (
	recordOp = register(`INSERT INTO ops (id, what, object_id, at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (id) DO NOTHING`)
	selectOp = register(`SELECT id, what, object_id, at FROM ops WHERE id = ?1`)
)

// record stores what an operation did, in its own transaction (docs/protocol.md, rule 7). It
// changes no row if the operation is recorded already: takeKey then returns errRecorded. An
// operation without an id is not recorded.
func (t *tx) record(op lethe.ID, what string, object lethe.ID) (err error) {
	if op == "" {
		return nil
	}
	t.op = op
	t.sentOp, err = t.Send(recordOp, op, what, object, t.Now)
	return err
}

// recordOnce is record for an operation whose result cannot be replayed.
func (t *tx) recordOnce(op lethe.ID, what string, object lethe.ID) error {
	if op == "" {
		return nil
	}
	t.op = op
	return t.Must(1, fmt.Errorf("operation %s was recorded before: look up its outcome", op), recordOp, op, what, object, t.Now)
}

// recorded returns once the record is there, in a transaction that sends no further query. Outcome
// could not wait for a record that is sent together with COMMIT.
func (t *tx) recorded() error {
	if t.op == "" || !t.concurrentWriters() {
		return nil
	}
	_, _, err := t.outcome(t.op)
	return err
}

// outcome returns what an operation recorded.
func (t *tx) outcome(op lethe.ID) (out ledger.Outcome, found bool, err error) {
	err = t.Row(selectOp, op).Scan(&out.Op, &out.What, &out.ObjectID, &out.At)
	if errors.Is(err, sql.ErrNoRows) {
		return ledger.Outcome{}, false, nil
	}
	return out, err == nil, t.Failed(err)
}

// Outcome returns what an operation did; found is false if it did nothing, or if the record
// was pruned. It waits for every write of the operation that has sent its record.
func (db *DB) Outcome(ctx context.Context, op lethe.ID) (out ledger.Outcome, found bool, err error) {
	err = db.write(ctx, "outcome of "+string(op), func(t *tx) error {
		if err := t.awaitOp(op); err != nil {
			return err
		}
		out, found, err = t.outcome(op)
		return err
	})
	if errors.Is(err, errNeverDone) {
		return ledger.Outcome{}, false, nil
	}
	return out, found, err
}

// errNeverDone rolls back the transaction that asked for an outcome.
var errNeverDone = errors.New("the operation is not recorded")

// awaitOp waits for a transaction that is recording the operation. Its caller may have lost
// the connection, but the transaction still holds the row that awaitOp tries to insert.
// errNeverDone if there is none, and none will follow.
func (t *tx) awaitOp(op lethe.ID) error {
	if !t.concurrentWriters() {
		return nil
	}
	n, err := t.Exec(recordOp, op, "", "", t.Now)
	if err == nil && n == 1 {
		return errNeverDone
	}
	return err
}
