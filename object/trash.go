package object

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// Trash lists what was deleted or replaced and can be restored.
func (s *Store) Trash(ctx context.Context, q ledger.TrashQuery) ([]ledger.TrashEntry, error) {
	return s.ledger.Trash.Trash(ctx, q)
}

// Restore puts a trash entry back under its key: ErrTrashNotFound, ErrNoSuchBucket,
// ErrPreconditionFailed if the key is taken and not overwrite, ErrUnknownOutcome.
// If only the response was lost, the object holds its ID alone. A full bucket that evicts makes
// room for it, as for a write.
func (s *Store) Restore(ctx context.Context, entry lethe.ID, overwrite bool) (ledger.Object, error) {
	op := s.newID()
	var o ledger.Object
	end, err := s.settle(ctx, operation{op: op, what: "restore", run: func(ctx context.Context) error {
		return s.withRoom(ctx, "", func(ctx context.Context) (err error) {
			o, err = s.ledger.Trash.Restore(ctx, op, entry, overwrite)
			return err
		})
	}})
	if err != nil {
		return ledger.Object{}, fmt.Errorf("object: restore %s: %w", entry, err)
	}
	if end.lookedUp {
		o = ledger.Object{ID: end.outcome.ObjectID}
	}
	return o, nil
}

// PurgeTrash makes entries due at once and returns how many there were; the purge
// routine removes them.
func (s *Store) PurgeTrash(ctx context.Context, entries []lethe.ID) (int, error) {
	return s.ledger.Trash.PurgeTrash(ctx, entries)
}
