package object

import (
	"context"

	"github.com/lethe-storage/lethe/meta"
)

// AddHold sets a hold: what it covers is not deleted, replaced, expired or purged.
func (s *Store) AddHold(ctx context.Context, h meta.Hold) (meta.Hold, error) {
	return s.ledger.AddHold(ctx, h)
}

// LiftHold ends a hold: meta.ErrNoSuchHold.
func (s *Store) LiftHold(ctx context.Context, h meta.Hold) error { return s.ledger.LiftHold(ctx, h) }

// HoldsOn lists the holds that cover a key.
func (s *Store) HoldsOn(ctx context.Context, bucket, key string) ([]meta.Hold, error) {
	return s.ledger.HoldsOn(ctx, bucket, key)
}
