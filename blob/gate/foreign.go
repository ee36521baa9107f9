package gate

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
	n, err := s.enter()
	if err != nil {
		return blob.ForeignInfo{}, err
	}
	info, err := f.StatForeign(ctx, key)
	return info, s.leave(n, err)
}

// OpenForeign implements blob.Foreign. An open body can be read to its end.
func (s *Store) OpenForeign(ctx context.Context, seen blob.ForeignInfo) (io.ReadCloser, error) {
	f, ok := s.inner.(blob.Foreign)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	n, err := s.enter()
	if err != nil {
		return nil, err
	}
	body, err := f.OpenForeign(ctx, seen)
	if err = s.leave(n, err); err != nil {
		if body != nil {
			err = errors.Join(err, body.Close())
		}
		return nil, err
	}
	return body, nil
}
