package sqladopt

import (
	"context"

	"github.com/lethe-storage/lethe/adopt"
)

// ClaimColumns returns the statements that give a table, whose rows end at the column,
// what a claim needs. They are to be read before they are run.
func (db *DB) ClaimColumns(table, end string) []string { return db.engine.claimColumns(table, end) }

// Tables returns the application's tables.
func (db *DB) Tables(ctx context.Context) (out []adopt.TableInfo, err error) {
	err = db.read(ctx, "list the tables", func(t *tx) error {
		out, err = db.engine.tables(t)
		return err
	})
	return out, err
}
