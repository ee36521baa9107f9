package breaker

import (
	"context"
	"errors"
	"io"

	"github.com/lethe-storage/lethe/blob"
)

var _ blob.Foreign = (*Store)(nil)

// StatForeign implements blob.Foreign.
func (s *Store) StatForeign(ctx context.Context, key string) (blob.ForeignInfo, error) {
	f, ok := s.inner.(blob.Foreign)
	if !ok {
		return blob.ForeignInfo{}, errors.ErrUnsupported
	}
	if err := s.enter(ctx); err != nil {
		return blob.ForeignInfo{}, err
	}
	info, err := f.StatForeign(ctx, key)
	s.leaveForeign(ctx, err)
	return info, err
}

// OpenForeign implements blob.Foreign. The end of its body is recorded, too.
func (s *Store) OpenForeign(ctx context.Context, seen blob.ForeignInfo) (io.ReadCloser, error) {
	f, ok := s.inner.(blob.Foreign)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	body, err := f.OpenForeign(ctx, seen)
	s.leaveForeign(ctx, err)
	if err != nil {
		return nil, err
	}
	return &opened{body, ctx, s}, nil
}

// leaveForeign records how a call ended. Changes of the bytes by their owner are no
// evidence against the backend.
func (s *Store) leaveForeign(ctx context.Context, err error) {
	if errors.Is(err, blob.ErrChanged) {
		err = nil
	}
	s.leave(ctx, err)
}
