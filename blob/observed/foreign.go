package observed

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
	ctx, c := s.begin(ctx, Stat, key)
	info, err := f.StatForeign(ctx, key)
	c.answered(err).end()
	return info, err
}

// OpenForeign implements blob.Foreign.
func (s *Store) OpenForeign(ctx context.Context, seen blob.ForeignInfo) (io.ReadCloser, error) {
	f, ok := s.inner.(blob.Foreign)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	ctx, c := s.begin(ctx, Get, seen.Key)
	body, err := f.OpenForeign(ctx, seen)
	c.answered(err)
	if err != nil {
		c.end()
		return nil, err
	}
	return &opened{ReadCloser: body, c: c}, nil
}
