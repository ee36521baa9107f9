//go:build failpoints

package failpoint

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// WrapStore puts points around the effects of s; epoch objects, which the guard
// writes and deletes, have their own.
func WrapStore(s blob.Store) blob.Store { return store{s} }

type store struct{ blob.Store }

var (
	_ blob.Unfinished = store{}
	_ blob.Spacer     = store{}
	_ blob.Placed     = store{}
)

func (s store) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if isEpoch(key) {
		return alone("epoch-put", func() error { return s.Store.Put(ctx, key, r, size) })
	}
	return alone("put", func() error { return s.Store.Put(ctx, key, &halfRead{Reader: r, size: size}, size) })
}

// Putting has the points in the middle of a put of the directory backend, which
// tells how far it has come.
func Putting(key, reached string) {
	if !isEpoch(key) {
		at("put/" + reached)
	}
}

func isEpoch(key string) bool { return strings.Contains(key, "/epoch/") }

// halfRead has a point where half of a body was handed on, or if its size is
// unknown where some of it was. The body is handed on in two reads at least.
type halfRead struct {
	io.Reader
	size, n int64
	passed  bool
}

func (h *halfRead) Read(p []byte) (int, error) {
	if half := h.size / 2; !h.passed && h.n >= max(half, 1) {
		h.passed = true
		at("put/during")
	} else if !h.passed && h.n < half {
		p = p[:min(int64(len(p)), half-h.n)]
	}
	n, err := h.Reader.Read(p)
	h.n += int64(n)
	return n, err
}

func (s store) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	switch {
	case len(keys) == 0:
		return s.Store.Delete(ctx, keys)
	case isEpoch(keys[0]):
		return around("epoch-unlink", func() ([]blob.Result, error) { return s.Store.Delete(ctx, keys) })
	}
	return around("unlink", func() ([]blob.Result, error) {
		half := len(keys) / 2
		if half == 0 || !isArmed("unlink/during") {
			return s.Store.Delete(ctx, keys)
		}
		first, err := s.Store.Delete(ctx, keys[:half])
		at("unlink/during")
		if err != nil {
			return first, err
		}
		rest, err := s.Store.Delete(ctx, keys[half:])
		return append(first, rest...), err
	})
}

// SweepUnfinished passes to the store, if it has the ability.
func (s store) SweepUnfinished(ctx context.Context, before lethe.Time) (n int, bytes int64, err error) {
	u, ok := s.Store.(blob.Unfinished)
	if !ok {
		return 0, 0, errors.ErrUnsupported
	}
	err = alone("sweep", func() error {
		n, bytes, err = u.SweepUnfinished(ctx, before)
		return err
	})
	return n, bytes, err
}

// Free passes to the store, if it has the ability.
func (s store) Free(ctx context.Context) (int64, error) {
	sp, ok := s.Store.(blob.Spacer)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	return sp.Free(ctx)
}

// InPlace passes to the store, if it has the ability.
func (s store) InPlace() error {
	if p, ok := s.Store.(blob.Placed); ok {
		return p.InPlace()
	}
	return nil
}

// Reopen passes to the store, if it has the ability.
func (s store) Reopen() error {
	p, ok := s.Store.(blob.Placed)
	if !ok {
		return errors.ErrUnsupported
	}
	return p.Reopen()
}
