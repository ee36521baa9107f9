package s3

import (
	"context"
	"time"
)

// RequestEvent describes one request, after its last byte was sent.
type RequestEvent struct {
	ID        string // the request id that the client received
	Method    string
	Operation string // as S3 names it, such as "PutObject"; empty if unknown
	Bucket    string
	Key       string
	Requester string // access key; empty if unsigned or not admitted
	Address   string // the client's IP address
	Status    int
	Code      string // the S3 error's, empty if there was none
	BytesIn   int64  // the body's as declared, -1 if it was not
	BytesOut  int64  // the body's
	Duration  time.Duration
	// Served is the part of Duration that does not depend on the client's connection:
	// without waiting for the bytes of an object's body, and without sending one.
	Served time.Duration
	// Change is what the request changed, or tried to change, besides objects
	// and their bytes. It is nil if it changed nothing or was denied.
	Change *Change
}

// Failure is an error of which the client received less.
type Failure struct {
	ID          string
	Operation   string
	Bucket, Key string
	Err         error
}

// Events are called from many goroutines at once, and must not block. Nil ones are
// skipped.
type Events struct {
	// Begun is called when a request arrives, with its W3C Trace Context
	// headers, which may be empty or hold anything. It returns the context for
	// all work on the request, derived from ctx, and a function that is called
	// when the request has ended, after Request.
	Begun   func(ctx context.Context, traceparent, tracestate string) (context.Context, func(RequestEvent))
	Request func(RequestEvent)
	Failure func(Failure)
	// Limited is called for a request that was refused for its rate. what is
	// "key" or "address", who the one that exceeded it.
	Limited func(what, who string)
	// Certificate is called when a certificate was reloaded or could not be.
	// After a failure the previous one stays in use.
	Certificate func(file string, err error)
}

// WithDefaults returns the events with a no-op for each that is nil.
func (e Events) WithDefaults() Events {
	if e.Begun == nil {
		e.Begun = func(ctx context.Context, _, _ string) (context.Context, func(RequestEvent)) {
			return ctx, func(RequestEvent) {}
		}
	}
	if e.Request == nil {
		e.Request = func(RequestEvent) {}
	}
	if e.Failure == nil {
		e.Failure = func(Failure) {}
	}
	if e.Limited == nil {
		e.Limited = func(string, string) {}
	}
	if e.Certificate == nil {
		e.Certificate = func(string, error) {}
	}
	return e
}
