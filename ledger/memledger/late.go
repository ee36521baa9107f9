package memledger

import (
	"context"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// CondemnLate gives a condemned row to bytes that were sent when their intent may already
// have been removed. An existing row keeps its state. ErrBackendMismatch.
func (db *DB) CondemnLate(ctx context.Context, l ledger.LateBytes) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	until := db.now.Add(db.opts.LateWindow)
	if b := db.byID[l.Blob]; b != nil {
		if b.State == lethe.Condemned || b.State == lethe.Dead {
			next := b.Blob
			next.LateUntil = max(next.LateUntil, until)
			db.set(b, next)
		}
		return nil
	}
	on := db.backend(l.Backend)
	if on == nil {
		return noBackend(l.Backend)
	}
	db.insert(&blob{backend: on, Blob: ledger.Blob{
		ID: l.Blob, Backend: on.ID, State: lethe.Condemned, Size: l.Size, CreatedAt: db.now, BeatAt: db.now,
		DiedAt: db.now, Reason: lethe.ReasonUploadOrphan, DueAt: db.now, LateUntil: until,
	}})
	return nil
}
