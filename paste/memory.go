package paste

import (
	"io"
	"net/http"
	"time"
)

// heldUnit is in what steps memory is taken, in bytes.
const heldUnit = 16 << 10

// heldOf is what a body of n bytes holds at most while it is received: itself, and the
// room into which it grows or is decoded.
func heldOf(n int64) int64 { return 3 * n }

// busy is answered where there is no memory left for more.
var busy = &problem{
	status: http.StatusServiceUnavailable, retry: 5 * time.Second,
	text: "too many pastes are being received; try again in a moment",
}

// charged takes memory for what it reads; the visit gives it back.
type charged struct {
	io.ReadCloser
	h *Handler
	v *visit
	n int64
}

// Read implements io.Reader.
func (c *charged) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n += int64(n)
	if lacks := heldOf(c.n) - c.v.held; lacks > 0 {
		lacks = (lacks + heldUnit - 1) / heldUnit * heldUnit
		if !c.h.held.Take(c.v.limit, lacks) {
			return 0, busy
		}
		c.v.held += lacks
	}
	return n, err
}

// release gives back what the visit holds.
func (h *Handler) release(v *visit) {
	h.held.Give(v.limit, v.held)
	v.held = 0
}
