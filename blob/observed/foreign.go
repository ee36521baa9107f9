package observed

import (
	"context"
	"errors"
	"io"

	"github.com/lethe-storage/lethe/blob"
)

var (
	_ blob.Copier  = (*Store)(nil)
	_ blob.Aborter = (*Store)(nil)
)

// AbortUpload implements blob.Aborter.
func (s *Store) AbortUpload(ctx context.Context, key, id string) error {
	inner, ok := s.inner.(blob.Aborter)
	if !ok {
		return errors.Join(errors.ErrUnsupported, blob.ErrNotDone)
	}
	ctx, c := s.begin(ctx, Sweep, key)
	err := inner.AbortUpload(ctx, key, id)
	c.answered(err).end()
	return err
}

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

// CopyForeign implements blob.Copier. If the source is observed as well its
// underlying store is passed, which the backend recognises.
func (s *Store) CopyForeign(ctx context.Context, from blob.Foreign, seen blob.ForeignInfo, key string, fresh bool) error {
	inner, ok := s.inner.(blob.Copier)
	if !ok {
		return errors.Join(errors.ErrUnsupported, blob.ErrNotDone)
	}
	if f, observed := from.(*Store); observed {
		source, ok := f.inner.(blob.Foreign)
		if !ok {
			return errors.Join(errors.ErrUnsupported, blob.ErrNotDone)
		}
		from = source
	}
	ctx, c := s.begin(ctx, Copy, key)
	err := inner.CopyForeign(ctx, from, seen, key, fresh)
	if err == nil {
		c.Bytes = seen.Size
	}
	c.answered(err).end()
	return err
}
