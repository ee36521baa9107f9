package object

import (
	"context"

	"github.com/lethe-storage/lethe/ledger"
)

// Update changes attributes, tags or the time to live of an object in place; Op is
// filled in. Errors: ErrNoSuchKey, ErrPreconditionFailed, ErrInvalidTTL,
// ErrUnknownOutcome. If the response was lost and the object is gone by now, the
// result holds only what the update contained.
func (s *Store) Update(ctx context.Context, u ledger.Update) (ledger.Object, error) {
	o, err := s.update(ctx, u)
	return o, named("update", u.Bucket, u.Key, err)
}

func (s *Store) update(ctx context.Context, u ledger.Update) (ledger.Object, error) {
	u.Op = s.newID()
	var o ledger.Object
	end, err := s.settle(ctx, operation{op: u.Op, what: "update", run: func(ctx context.Context) (err error) {
		o, err = s.ledger.Objects.Update(ctx, u)
		return err
	}})
	if err != nil || !end.lookedUp {
		return o, err
	}
	return s.updated(ctx, u, end.outcome), nil
}

// updated returns the result of an update according to its outcome: the row, or if
// that was replaced or removed since, what the update contained.
func (s *Store) updated(ctx context.Context, u ledger.Update, out ledger.Outcome) ledger.Object {
	ctx, cancel := s.bookkeeping(ctx)
	defer cancel()
	res, err := s.ledger.Objects.StatObject(ctx, u.Bucket, u.Key)
	if err == nil && res.Object.ID == out.ObjectID {
		return res.Object
	}
	o := ledger.Object{ID: out.ObjectID, Bucket: u.Bucket, Key: u.Key, ModifiedAt: out.At}
	if u.Attrs != nil {
		o.Attrs = *u.Attrs
	}
	if u.Tags != nil {
		o.Tags = *u.Tags
	}
	return o
}
