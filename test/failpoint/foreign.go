//go:build failpoints

package failpoint

import (
	"context"
	"errors"
	"io"

	"github.com/lethe-storage/lethe/blob"
)

var _ blob.Foreign = store{}

// StatForeign passes to the store, if it has the ability.
func (s store) StatForeign(ctx context.Context, key string) (blob.ForeignInfo, error) {
	if f, ok := s.Store.(blob.Foreign); ok {
		return f.StatForeign(ctx, key)
	}
	return blob.ForeignInfo{}, errors.ErrUnsupported
}

// OpenForeign passes to the store, if it has the ability.
func (s store) OpenForeign(ctx context.Context, seen blob.ForeignInfo) (io.ReadCloser, error) {
	if f, ok := s.Store.(blob.Foreign); ok {
		return f.OpenForeign(ctx, seen)
	}
	return nil, errors.ErrUnsupported
}
