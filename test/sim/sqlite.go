package sim

import (
	"context"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
)

// onSQLite is the shipped ledger on a database in memory.
type onSQLite struct{ *sqlledger.DB }

// NewSQLite makes the shipped SQLite ledger for Config.NewLedger: slower than
// memledger by far, but the very code and SQL that run in production.
func NewSQLite(o ledger.Options) (Ledger, error) {
	db, err := sqlledger.Open(context.Background(), ":memory:", o)
	if err != nil {
		return nil, err
	}
	return onSQLite{db}, nil
}

// Inspect fills v with every row.
func (s onSQLite) Inspect(v *View) (err error) {
	*v, err = s.Snapshot(context.Background())
	return err
}
