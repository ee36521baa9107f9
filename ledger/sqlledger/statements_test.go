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
