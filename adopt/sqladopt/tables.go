package sqladopt

import (
	"context"

	"github.com/lethe-storage/lethe/adopt"
)

// Tables returns the application's tables.
func (db *DB) Tables(ctx context.Context) (out []adopt.TableInfo, err error) {
	err = db.read(ctx, "list the tables", func(t *tx) error {
		out, err = db.engine.tables(t)
		return err
	})
	return out, err
}
