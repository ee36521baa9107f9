package service

import (
	"io"
	"net/http"
	"sync"
)

// Local is a RoundTripper that calls a handler within this process, so that
// commands without a server use the same code.
type Local struct {
	Handler http.Handler
	calls   sync.WaitGroup
}

// Wait waits for the calls in progress, cancelled ones included.
func (l *Local) Wait() { l.calls.Wait() }

// RoundTrip runs the handler in another goroutine, and returns its response as
// a stream.
func (l *Local) RoundTrip(r *http.Request) (*http.Response, error) {
	body, out := io.Pipe()
	w := &pipeWriter{header: http.Header{}, out: out, began: make(chan struct{})}
	in := r.Clone(r.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	l.calls.Go(func() {
		defer in.Body.Close()
		l.Handler.ServeHTTP(w, in)
		w.WriteHeader(http.StatusOK)
		out.Close()
	})
	select {
	case <-w.began:
	case <-r.Context().Done():
		body.CloseWithError(r.Context().Err())
		return nil, r.Context().Err()
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: body, ContentLength: -1, Request: r,
	}, nil
}

// pipeWriter passes on a handler's response while it is written.
type pipeWriter struct {
	header, sent http.Header
	status       int
	out          *io.PipeWriter
	once         sync.Once
	began        chan struct{}
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.began)
	})
}

func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.out.Write(p)
}

// Flush does nothing: writes are passed on at once.
func (w *pipeWriter) Flush() { w.WriteHeader(http.StatusOK) }
