//go:build failpoints

package failpoint

import (
	"io"
	"strings"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/intercept"
)

// WrapStore puts points around the effects of s; epoch objects, which the guard
// writes and deletes, have their own.
func WrapStore(s blob.Store) blob.Store { return intercept.New(s, points{}) }

type points struct{}

// Around implements intercept.Hook.
func (points) Around(c *intercept.Call) error {
	switch {
	case c.Op == intercept.Put && isEpoch(c.Key):
		return alone("epoch-put", c.Next)
	case c.Op == intercept.Put:
		c.Body = &halfRead{Reader: c.Body, size: c.Size}
		return alone("put", c.Next)
	case c.Op == intercept.Delete && c.Keys > 0 && isEpoch(c.Names[0]):
		return alone("epoch-unlink", c.Next)
	case c.Op == intercept.Delete && c.Keys > 0:
		return alone("unlink", func() error { return unlink(c) })
	case c.Op == intercept.Sweep:
		return alone("sweep", c.Next)
	}
	return c.Next()
}

// unlink makes two deletes if the point between them is armed.
func unlink(c *intercept.Call) (err error) {
	half := c.Keys / 2
	if half == 0 || !isArmed("unlink/during") {
		return c.Next()
	}
	c.Results, err = c.Behind().Delete(c.Ctx, c.Names[:half])
	at("unlink/during")
	if err != nil {
		return err
	}
	rest, err := c.Behind().Delete(c.Ctx, c.Names[half:])
	c.Results = append(c.Results, rest...)
	return err
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
