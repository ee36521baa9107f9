package sqlledger

import (
	"context"
	"testing"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
)

// TestStatements prepares every statement: the compile step of the SQL.
func TestStatements(t *testing.T) {
	db, err := Open(context.Background(), Memory, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, text := range engine.Statements(db.engine.Dialect) {
		st, err := db.engine.File.Pool.Prepare(db.engine.Dialect.Expand(text))
		if err != nil {
			t.Errorf("%v in %s", err, text)
			continue
		}
		st.Close()
	}
}

// What the members of a group have read of buckets is forgotten before every statement that
// changes one, by what SQLite makes of the statement.
func TestStatementsThatChangeBucketsAreSeen(t *testing.T) {
	db, err := Open(context.Background(), Memory, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var root int
	if err := db.engine.File.Pool.QueryRow(`SELECT rootpage FROM sqlite_master WHERE name = 'buckets'`).Scan(&root); err != nil {
		t.Fatal(err)
	}
	change := 0
	for _, text := range engine.Statements(db.engine.Dialect) {
		if !writesTo(t, db, text, root) {
			continue
		}
		change++
		group := &common{ruled: map[string]ruled{"b": {}}}
		if group.Runs(text); len(group.ruled) > 0 {
			t.Errorf("members go on with what they read before %s", text)
		}
	}
	if change < 5 {
		t.Errorf("%d statements change buckets", change)
	}
}

// writesTo reports whether a statement opens a table, by its root page, to write to it.
func writesTo(t *testing.T, db *DB, text string, root int) (writes bool) {
	t.Helper()
	rows, err := db.engine.File.Pool.Query("EXPLAIN "+db.engine.Dialect.Expand(text), make([]any, parameters(text))...)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	defer rows.Close()
	for rows.Next() {
		var opcode string
		var page int
		var rest any
		if err := rows.Scan(&rest, &opcode, &rest, &page, &rest, &rest, &rest, &rest); err != nil {
			t.Fatal(err)
		}
		writes = writes || opcode == "OpenWrite" && page == root
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return writes
}
