package paste

import (
	"io"
	"net/http"
	"time"

	"github.com/lethe-storage/lethe/internal/budget"
)

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
	held *budget.Account
	n    int64
}

// Read implements io.Reader.
func (c *charged) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n += int64(n)
	if !c.held.Hold(heldOf(c.n)) {
		return 0, busy
	}
	return n, err
}
