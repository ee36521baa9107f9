// Package gate is a mount guard: a blob.Store around another one that can be shut.
// It is shut while it is not certain that a backend's bytes lie in their place (a
// disk is not mounted, another folder lies there). Then nothing is written, and
// nothing that is not found is taken for gone: every call returns blob.ErrDown with
// blob.ErrMisplaced, as in an outage. The decision to shut it is the caller's.
package gate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// Store is a blob.Store with a mount guard, open at first. It is safe for
// concurrent use.
type Store struct {
	// Absent, if set, returns nil if what was not found under a key is gone for
	// certain, or why that is unknown (pairing.Pairing.Absent). It is set before the
	// first call.
	Absent func(ctx context.Context, key string) error

	inner blob.Store
	why   atomic.Pointer[string] // why it is shut; nil: open
	shuts atomic.Int64           // times that it was shut
}

var (
	_ blob.Store      = (*Store)(nil)
	_ blob.Unfinished = (*Store)(nil)
	_ blob.Spacer     = (*Store)(nil)
	_ blob.Downer     = (*Store)(nil)
)

// New puts a mount guard around a store.
func New(inner blob.Store) *Store { return &Store{inner: inner} }

// Shut refuses every call from now on, and discards the results of those in flight.
// It reports whether the guard was open.
func (s *Store) Shut(why string) bool {
	open := s.why.Swap(&why) == nil
	s.shuts.Add(1)
	return open
}

// Open lets calls through. It reports whether the guard was shut.
func (s *Store) Open() bool { return s.why.Swap(nil) != nil }

// Misplaced returns why the guard is shut; empty if it is open.
func (s *Store) Misplaced() string {
	if why := s.why.Load(); why != nil {
		return *why
	}
	return ""
}

// Down implements blob.Downer: the guard is shut, or the store behind it is down.
func (s *Store) Down() string {
	why := s.Misplaced()
	if d, ok := s.inner.(blob.Downer); ok && why == "" {
		why = d.Down()
	}
	return why
}

// enter begins a call; its result counts if the guard was not shut before leave.
func (s *Store) enter() (int64, error) {
	n := s.shuts.Load()
	if why := s.Misplaced(); why != "" {
		return n, fmt.Errorf("%w: %w", blob.ErrNotDone, down(why))
	}
	return n, nil
}

func down(why string) error {
	return fmt.Errorf("%w: %w: %s", blob.ErrDown, blob.ErrMisplaced, why)
}

// leave passes on the result of a call that entered at n.
func (s *Store) leave(n int64, err error) error {
	switch {
	case s.shuts.Load() == n:
		return err
	case err == nil, errors.Is(err, blob.ErrNotExist), errors.Is(err, blob.ErrExist):
		return fmt.Errorf("%w: %w", blob.ErrUnknown, down("it changed during the call"))
	}
	return err
}

// found passes on the result of a look-up. Absence is reported only once it is
// certain; until then it is an outage.
func (s *Store) found(ctx context.Context, key string, n int64, err error) error {
	if err = s.leave(n, err); !errors.Is(err, blob.ErrNotExist) || s.Absent == nil {
		return err
	}
	if why := s.Absent(ctx, key); why != nil {
		return fmt.Errorf("%s is not there, which proves nothing: %w: %w: %w", key, blob.ErrDown, blob.ErrMisplaced, why)
	}
	return err
}

// Put implements blob.Store.
func (s *Store) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	n, err := s.enter()
	if err != nil {
		return err
	}
	return s.leave(n, s.inner.Put(ctx, key, r, size))
}

// Get implements blob.Store. An open body can be read to its end.
func (s *Store) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	n, err := s.enter()
	if err != nil {
		return nil, err
	}
	body, err := s.inner.Get(ctx, key, offset, length)
	if err = s.found(ctx, key, n, err); err != nil {
		if body != nil {
			err = errors.Join(err, body.Close())
		}
		return nil, err
	}
	return body, nil
}

// Stat implements blob.Store.
func (s *Store) Stat(ctx context.Context, key string) (blob.Info, error) {
	n, err := s.enter()
	if err != nil {
		return blob.Info{}, err
	}
	info, err := s.inner.Stat(ctx, key)
	return info, s.found(ctx, key, n, err)
}

// Delete implements blob.Store.
func (s *Store) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	n, err := s.enter()
	if err != nil {
		return nil, err
	}
	results, err := s.inner.Delete(ctx, keys)
	if s.shuts.Load() != n {
		return nil, s.leave(n, err)
	}
	return results, err
}

// List implements blob.Store.
func (s *Store) List(ctx context.Context, prefix, after string, fn func(blob.Info) error) error {
	n, err := s.enter()
	if err != nil {
		return err
	}
	return s.leave(n, s.inner.List(ctx, prefix, after, fn))
}

// SweepUnfinished implements blob.Unfinished.
func (s *Store) SweepUnfinished(ctx context.Context, before lethe.Time) (int, int64, error) {
	u, ok := s.inner.(blob.Unfinished)
	if !ok {
		return 0, 0, errors.ErrUnsupported
	}
	if _, err := s.enter(); err != nil {
		return 0, 0, err
	}
	return u.SweepUnfinished(ctx, before)
}

// Free implements blob.Spacer.
func (s *Store) Free(ctx context.Context) (int64, error) {
	sp, ok := s.inner.(blob.Spacer)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	if _, err := s.enter(); err != nil {
		return 0, err
	}
	return sp.Free(ctx)
}
