package sim

import (
	"context"
	"slices"

	"github.com/lethe-storage/lethe/ledger"
)

// The methods that holds need.

func (s *seam) AddHold(ctx context.Context, h ledger.Hold) (ledger.Hold, error) {
	return write(s, "add-hold", h.Bucket+"/"+h.Key, scope{alone: h.Bucket}, func() (ledger.Hold, error) {
		out, err := s.in.AddHold(s.lasting(ctx), h)
		if o := s.w.oracle; err == nil && !slices.ContainsFunc(o.holds, func(x ledger.Hold) bool { return sameHold(x, h) }) {
			o.holds = append(o.holds, h)
		}
		return out, err
	})
}

func (s *seam) ReleaseHold(ctx context.Context, h ledger.Hold) error {
	return do(s, "release-hold", h.Bucket+"/"+h.Key, scope{alone: h.Bucket}, func() error {
		err := s.in.ReleaseHold(s.lasting(ctx), h)
		if err == nil {
			s.w.oracle.holds = slices.DeleteFunc(s.w.oracle.holds, func(x ledger.Hold) bool { return sameHold(x, h) })
		}
		return err
	})
}

func (s *seam) Holds(ctx context.Context, q ledger.HoldQuery) ([]ledger.Hold, error) {
	return s.in.Holds(ctx, q)
}

func (s *seam) HoldsOn(ctx context.Context, bucket, key string) ([]ledger.Hold, error) {
	return s.in.HoldsOn(ctx, bucket, key)
}

func (s *seam) ReturnDeferred(ctx context.Context, limit int) (ledger.ReturnedRows, error) {
	return s.returnDeferred(ctx, limit)
}
