package intercept

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

// StatForeign implements blob.Foreign.
func (s *Store) StatForeign(ctx context.Context, key string) (info blob.ForeignInfo, err error) {
	f, ok := s.inner.(blob.Foreign)
	if !ok {
		return blob.ForeignInfo{}, errors.ErrUnsupported
	}
	err = s.foreign(ctx, Stat, key, func(c *Call) (err error) {
		info, err = f.StatForeign(c.Ctx, key)
		return err
	}).Next()
	return info, err
}

// OpenForeign implements blob.Foreign.
func (s *Store) OpenForeign(ctx context.Context, seen blob.ForeignInfo) (io.ReadCloser, error) {
	f, ok := s.inner.(blob.Foreign)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return s.foreign(ctx, Get, seen.Key, func(c *Call) (err error) {
		c.Opened, err = f.OpenForeign(c.Ctx, seen)
		return err
	}).open()
}

// CopyForeign implements blob.Copier. If the source is a Store as well, the one
// behind it is passed, which the backend recognises.
func (s *Store) CopyForeign(ctx context.Context, from blob.Foreign, seen blob.ForeignInfo, key string, fresh bool) error {
	inner, ok := s.inner.(blob.Copier)
	if f, intercepted := from.(*Store); ok && intercepted {
		from, ok = f.inner.(blob.Foreign)
	}
	if !ok {
		return errors.Join(errors.ErrUnsupported, blob.ErrNotDone)
	}
	return s.foreign(ctx, Copy, key, func(c *Call) error {
		err := inner.CopyForeign(c.Ctx, from, seen, key, fresh)
		if err == nil {
			c.Bytes = seen.Size
		}
		return err
	}).Next()
}

// AbortUpload implements blob.Aborter.
func (s *Store) AbortUpload(ctx context.Context, key, id string) error {
	inner, ok := s.inner.(blob.Aborter)
	if !ok {
		return errors.Join(errors.ErrUnsupported, blob.ErrNotDone)
	}
	return s.foreign(ctx, Sweep, key, func(c *Call) error { return inner.AbortUpload(c.Ctx, key, id) }).Next()
}

// foreign begins a call about what another program keeps on the backend.
func (s *Store) foreign(ctx context.Context, op, key string, do func(*Call) error) *Call {
	c := s.call(ctx, op, key, do)
	c.Foreign = true
	return c
}
