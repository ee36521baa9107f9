// Package intercept is a blob.Store around another one that passes each call through
// hooks. It alone forwards calls and optional abilities; a hook has state and a
// decision. The hooks are MountGuard, Breaker and Observation.
package intercept

import (
	"context"
	"errors"
	"io"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// Hook intercepts the calls of a Store. It is safe for concurrent use.
//
// A hook that is a blob.Downer as well reports an outage before the store behind it
// is asked.
type Hook interface {
	// Around makes the call by c.Next and returns its error, or another one. Without
	// c.Next the call is refused. A call whose ability the store lacks gets to no
	// hook.
	Around(c *Call) error
}

// BodyHook is a hook that follows the bodies that were opened.
type BodyHook interface {
	Hook
	// ReadFailed is called for each error of a read other than io.EOF.
	ReadFailed(c *Call, err error)
}

// Store is a blob.Store with hooks. It has all optional abilities; what the store
// behind it lacks returns errors.ErrUnsupported.
type Store struct {
	inner blob.Store
	hooks []Hook
}

var (
	_ blob.Store      = (*Store)(nil)
	_ blob.Unfinished = (*Store)(nil)
	_ blob.Spacer     = (*Store)(nil)
	_ blob.Downer     = (*Store)(nil)
	_ blob.Placed     = (*Store)(nil)
)

// New puts hooks around a store, the outermost first.
func New(inner blob.Store, hooks ...Hook) *Store { return &Store{inner, hooks} }

// Put implements blob.Store.
func (s *Store) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	c := s.call(ctx, Put, key, func(c *Call) error {
		return c.store.inner.Put(c.Ctx, c.Key, (*source)(c), c.Size)
	})
	c.Body, c.Size = r, size
	return c.Next()
}

// Get implements blob.Store.
func (s *Store) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	c := s.call(ctx, Get, key, func(c *Call) (err error) {
		c.Opened, err = c.store.inner.Get(c.Ctx, c.Key, c.offset, c.length)
		return err
	})
	c.offset, c.length = offset, length
	return c.open()
}

// Stat implements blob.Store.
func (s *Store) Stat(ctx context.Context, key string) (blob.Info, error) {
	c := s.call(ctx, Stat, key, func(c *Call) (err error) {
		c.info, err = c.store.inner.Stat(c.Ctx, c.Key)
		return err
	})
	err := c.Next()
	return c.info, err
}

// Delete implements blob.Store.
func (s *Store) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	c := s.call(ctx, Delete, "", func(c *Call) (err error) {
		c.Results, err = c.store.inner.Delete(c.Ctx, c.Names)
		return err
	})
	if c.Names, c.Keys = keys, len(keys); len(keys) == 1 {
		c.Key = keys[0]
	}
	err := c.Next()
	return c.Results, err
}

// List implements blob.Store.
func (s *Store) List(ctx context.Context, prefix, after string, fn func(blob.Info) error) error {
	return s.call(ctx, List, "", func(c *Call) error {
		return s.inner.List(c.Ctx, prefix, after, func(i blob.Info) error {
			c.Keys++
			err := fn(i)
			c.CallerFailed = c.CallerFailed || err != nil
			return err
		})
	}).Next()
}

// SweepUnfinished implements blob.Unfinished.
func (s *Store) SweepUnfinished(ctx context.Context, before lethe.Time) (n int, bytes int64, err error) {
	u, ok := s.inner.(blob.Unfinished)
	if !ok {
		return 0, 0, errors.ErrUnsupported
	}
	err = s.call(ctx, Sweep, "", func(c *Call) (err error) {
		n, bytes, err = u.SweepUnfinished(c.Ctx, before)
		return err
	}).Next()
	return n, bytes, err
}

// Free implements blob.Spacer.
func (s *Store) Free(ctx context.Context) (n int64, err error) {
	sp, ok := s.inner.(blob.Spacer)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	err = s.call(ctx, Free, "", func(c *Call) (err error) {
		n, err = sp.Free(c.Ctx)
		return err
	}).Next()
	return n, err
}

// Down implements blob.Downer.
func (s *Store) Down() string {
	for _, h := range s.hooks {
		if d, ok := h.(blob.Downer); ok {
			if why := d.Down(); why != "" {
				return why
			}
		}
	}
	if d, ok := s.inner.(blob.Downer); ok {
		return d.Down()
	}
	return ""
}

// InPlace implements blob.Placed, without hooks: a backend without the ability is
// always in its place.
func (s *Store) InPlace() error {
	if p, ok := s.inner.(blob.Placed); ok {
		return p.InPlace()
	}
	return nil
}

// Reopen implements blob.Placed, without hooks.
func (s *Store) Reopen() error {
	if p, ok := s.inner.(blob.Placed); ok {
		return p.Reopen()
	}
	return errors.ErrUnsupported
}
