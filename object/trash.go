package object

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/meta"
)

// Trash lists what was deleted or replaced and can be restored.
func (s *Store) Trash(ctx context.Context, q meta.TrashQuery) ([]meta.TrashEntry, error) {
	return s.ledger.Trash(ctx, q)
}

// Restore puts a trash entry back under its key: ErrTrashNotFound,
// ErrNoSuchBucket, ErrPreconditionFailed if the key is taken and not overwrite,
// ErrUnknownOutcome. If only the answer was lost, the object holds its ID alone.
func (s *Store) Restore(ctx context.Context, entry lethe.ID, overwrite bool) (meta.Object, error) {
	op := s.newID()
	var o meta.Object
	end, err := s.settle(ctx, operation{op: op, what: "restore", run: func(ctx context.Context) (err error) {
		o, err = s.ledger.Restore(ctx, op, entry, overwrite)
		return err
	}})
	if err != nil {
		return meta.Object{}, fmt.Errorf("object: restore %s: %w", entry, err)
	}
	if end.lookedUp {
		o = meta.Object{ID: end.outcome.ObjectID}
	}
	return o, nil
}

// PurgeTrash makes entries due at once and returns how many there were; the
// purge routine takes them.
func (s *Store) PurgeTrash(ctx context.Context, entries []lethe.ID) (int, error) {
	return s.ledger.PurgeTrash(ctx, entries)
}
