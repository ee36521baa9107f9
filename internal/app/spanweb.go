package app

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/lethe-storage/lethe/admin/api"
)

// tracedWeb begins the trace of each request of a server other than S3, or
// continues its client's. The request's URL appears nowhere: a paste's URL is all
// that is needed to read it. Named returns the span's name, from a fixed set.
func (w *observer) tracedWeb(front string, named func(*http.Request) string, next http.Handler) http.Handler {
	if w.trace == nil {
		return next
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		ctx := w.trace.parent(r.Context(), r.Header.Get("Traceparent"), r.Header.Get("Tracestate"))
		ctx, sp := w.trace.root(ctx, front+" "+named(r), trace.SpanKindServer, attribute.String("http.request.method", method(r.Method)))
		answer := &answer{ResponseWriter: rw}
		ended := false
		defer func() {
			status := answer.status
			switch {
			case !ended: // by a panic
				status = http.StatusInternalServerError
			case status == 0:
				status = http.StatusOK
			}
			sp.SetAttributes(attribute.Int("http.response.status_code", status),
				attribute.Int64("lethe.bytes_in", r.ContentLength), attribute.Int64("lethe.bytes_out", answer.bytes))
			if status >= 500 {
				sp.SetStatus(codes.Error, fmt.Sprint(status))
			}
			sp.End()
		}()
		next.ServeHTTP(answer, r.WithContext(ctx))
		ended = true
	})
}

// answer records the status of a response.
type answer struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status < http.StatusOK {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	if a.status < http.StatusOK {
		a.status = http.StatusOK
	}
	n, err := a.ResponseWriter.Write(p)
	a.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// discreet hides names from the spans of what a server does, even if names are
// enabled.
func discreet(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(rw, r.WithContext(unnamed(r.Context())))
	})
}

// pasteCall names a request for pastes by its method.
func pasteCall(r *http.Request) string { return method(r.Method) }

// adminCalls names a call of the admin API by its route.
func adminCalls() func(*http.Request) string {
	var known []string
	for _, r := range api.Routes() {
		known = append(known, r.Name)
	}
	return func(r *http.Request) string {
		if name, ok := strings.CutPrefix(r.URL.Path, api.Prefix); ok && slices.Contains(known, name) {
			return name
		}
		return "other"
	}
}
