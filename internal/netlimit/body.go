package netlimit

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/lethe-storage/lethe"
)

// Bodies requires a least rate of the bodies of requests to a handler. A slower
// one is cut: reading it fails with os.ErrDeadlineExceeded.
func (p Pace) Bodies(h http.Handler) http.Handler {
	if p.PerSecond <= 0 {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = &paced{ReadCloser: r.Body, control: http.NewResponseController(w), patience: p.Patience()}
		}
		h.ServeHTTP(w, r)
	})
}

// paced is a request's body that is cut when it comes too slowly.
type paced struct {
	io.ReadCloser
	control  *http.ResponseController
	patience Patience
}

// Read implements io.Reader.
func (b *paced) Read(p []byte) (int, error) {
	left, _ := b.patience.Left()
	at := lethe.SystemClock{}.Now()
	if err := b.control.SetReadDeadline(at.Add(left).Time()); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, fmt.Errorf("read deadline: %w", err)
	}
	n, err := b.ReadCloser.Read(p)
	b.patience.Waited(lethe.SystemClock{}.Now().Sub(at), n)
	if errors.Is(err, io.EOF) {
		// The rest is up to the server, at its own rate. After any other error
		// the deadline stays: the server would wait for the rest of the body
		// before it responds.
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
