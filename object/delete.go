package object

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// maxDelete is the most keys that one DeleteRequest may name.
const maxDelete = 1000

// Delete deletes up to 1,000 keys in one transaction and returns a result for each,
// in their order. Absent keys are no error; a failed condition is the error of its
// item alone. Errors: ErrNoSuchBucket; ErrTooLarge for more keys; ErrUnknownOutcome
// if its outcome cannot be looked up. If only the response was lost, items without
// a condition are reported as deleted, and those with one carry ErrUnknownOutcome.
func (s *Store) Delete(ctx context.Context, r DeleteRequest) ([]ledger.Deleted, error) {
	items, err := s.delete(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("object: delete %d keys of %s: %w", len(r.Items), r.Bucket, err)
	}
	return items, nil
}

func (s *Store) delete(ctx context.Context, r DeleteRequest) ([]ledger.Deleted, error) {
	switch n := len(r.Items); {
	case n == 0:
		return nil, nil
	case n > maxDelete:
		return nil, fmt.Errorf("%w: at most %d keys at a time", lethe.ErrTooLarge, maxDelete)
	}
	d := ledger.Deletion{Op: s.newID(), Bucket: r.Bucket, Into: r.BucketID, Items: r.Items}
	var deletions ledger.Deletions
	end, err := s.settle(ctx, operation{op: d.Op, what: "delete", run: func(ctx context.Context) (err error) {
		deletions, err = s.ledger.Objects.Delete(ctx, d)
		return err
	}})
	if err != nil {
		return nil, err
	}
	if end.lookedUp {
		return deletedUnseen(r.Items), nil
	}
	s.drop(ctx, deletions.Dropped)
	return deletions.Items, nil
}

// deletedUnseen returns the results of a deletion that happened but whose response
// was lost.
func deletedUnseen(items []ledger.DeleteItem) []ledger.Deleted {
	out := make([]ledger.Deleted, len(items))
	for i, item := range items {
		out[i] = ledger.Deleted{Key: item.Key, Existed: true}
		if item.If != (ledger.Precondition{}) {
			out[i] = ledger.Deleted{Key: item.Key, Err: fmt.Errorf("%w: the response was lost", lethe.ErrUnknownOutcome)}
		}
	}
	return out
}
