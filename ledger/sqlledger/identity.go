package sqlledger

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

var getStore = register(`SELECT id, db, created_at, clock_high FROM store WHERE one = 1`)

// identify reads the file's identity, and sets the clock to at least its highest time.
func (db *DB) identify(ctx context.Context, s *sqldb.Session) error {
	var st ledger.Store
	var high lethe.Time
	err := s.Conn.QueryRowContext(ctx, getStore).Scan(&st.ID, &st.DB, &st.CreatedAt, &high)
	if err != nil {
		return fmt.Errorf("read the store's identity: %w", sqldb.MapError(err))
	}
	if _, err := lethe.ParseID(string(st.ID)); err != nil {
		return fmt.Errorf("%w: the store's id: %w", lethe.ErrCorrupt, err)
	}
	db.clock.high.Store(int64(max(high, lethe.Time(db.clock.high.Load()))))
	db.clock.saved = high
	return nil
}
