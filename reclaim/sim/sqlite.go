package sim

import (
	"context"

	"github.com/lethe-storage/lethe/meta"
)

// onSQLite is the shipped ledger on a database in memory.
type onSQLite struct{ *meta.DB }

// NewSQLite makes the shipped SQLite ledger for Config.NewLedger: slower than
// memmeta by far, but the very code and SQL that run in production.
func NewSQLite(o meta.Options) (Ledger, error) {
	db, err := meta.Open(context.Background(), ":memory:", o)
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
