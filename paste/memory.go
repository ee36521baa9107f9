package paste

import (
	"io"
	"net/http"
	"time"

	"github.com/lethe-storage/lethe/internal/budget"
)

// heldPerByte is how many bytes one of a body takes at most while it is received:
// itself, and the buffer into which it grows or is decoded.
const heldPerByte = 3

// errBusy is the response when there is no memory left for more.
var errBusy = &problem{
	status: http.StatusServiceUnavailable, retry: 5 * time.Second,
	text: "too many pastes are being received; try again in a moment",
}

// charged is a body whose memory is counted as it is read; the visit releases it.
func charged(body io.ReadCloser, held *budget.Account) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{&budget.Reader{R: body, Account: held, Factor: heldPerByte, ErrFull: errBusy}, body}
}
