package app

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strconv"

	"github.com/lethe-storage/lethe/admin/metrics"
	"github.com/lethe-storage/lethe/admin/service"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/paste"
	"github.com/lethe-storage/lethe/reclaim/throttle"
	"github.com/lethe-storage/lethe/s3"
)

// front returns the events of package s3.
func (w *observer) front() s3.Events {
	return s3.Events{
		Begun: w.begun,
		Request: func(r s3.RequestEvent) {
			w.metrics.Requested(metrics.Request{
				Front: "s3", Operation: cmp.Or(r.Operation, "other"), Status: strconv.Itoa(r.Status), In: r.BytesIn, Out: r.BytesOut, Took: r.Duration,
			})
			w.got(r)
			w.deleted(r)
			w.changed(r)
			w.noteLatency(r)
			w.requested(r)
		},
		Failure: func(f s3.Failure) {
			w.log.Warn("a request failed", "id", f.ID, "op", f.Operation, "bucket", f.Bucket, "key", f.Key, "error", f.Err)
		},
		Limited: func(what, who string) { w.log.Debug("a request exceeded its rate limit", "by", what, "who", who) },
		Certificate: func(file string, err error) {
			if err != nil {
				w.log.Error("a certificate could not be loaded; the previous one stays in use", "file", file, "error", err)
				return
			}
			w.log.Info("a certificate was reloaded", "file", file)
		},
	}
}

// got counts a get that was answered, by whether there was an object. A client's mistake and a
// failure are neither, and a bucket that does not exist has no count.
func (w *observer) got(r s3.RequestEvent) {
	switch {
	case r.Operation != "GetObject" && !(r.Operation == "HeadObject" && w.headCounts):
	case r.Status < 300, r.Status == http.StatusNotModified:
		w.metrics.Got(r.Bucket, true)
	case r.Code == "NoSuchKey":
		w.metrics.Got(r.Bucket, false)
	}
}

// requested writes a line for a request, if the level is enabled: the attributes
// are built only then.
func (w *observer) requested(r s3.RequestEvent) {
	if !w.log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	w.log.Debug("request", "id", r.ID, "method", r.Method, "op", r.Operation, "bucket", r.Bucket, "key", r.Key,
		"requester", r.Requester, "address", r.Address, "status", r.Status, "code", r.Code,
		"bytes_in", r.BytesIn, "bytes_out", r.BytesOut, "took", r.Duration)
}

// deletions are the operations by which clients delete objects.
var deletions = []string{"DeleteObject", "DeleteObjects"}

// deleted writes an audit line for what a client deleted.
func (w *observer) deleted(r s3.RequestEvent) {
	if r.Status < 300 && slices.Contains(deletions, r.Operation) {
		w.audit("client_"+r.Operation, "client", slog.String("bucket", r.Bucket), slog.String("key", r.Key),
			slog.String("requester", r.Requester), slog.String("request", r.ID))
	}
}

// changed writes an audit line for what a client changed beside objects, in the
// form of those of the admin API.
func (w *observer) changed(r s3.RequestEvent) {
	if r.Change == nil {
		return
	}
	outcome := "done"
	if r.Status >= 300 {
		outcome = cmp.Or(r.Code, strconv.Itoa(r.Status))
	}
	about := struct {
		Bucket string `json:"bucket"`
		Key    string `json:"key,omitempty"`
	}{r.Bucket, r.Key}
	w.audit("s3_change", "client", slog.String("who", cmp.Or(r.Requester, "unsigned")), slog.String("from", r.Address),
		slog.String("route", r.Operation), slog.String("id", r.ID), slog.String("request", service.Audited(about)),
		slog.String("before", service.Audited(r.Change.Before)), slog.String("after", service.Audited(r.Change.After)),
		slog.String("outcome", outcome))
}

// pastes returns the events of package paste.
func (w *observer) pastes() paste.Events {
	return paste.Events{
		Request: func(r paste.RequestEvent) {
			w.metrics.Requested(metrics.Request{
				Front: "paste", Operation: method(r.Method), Status: strconv.Itoa(r.Status), In: -1, Out: r.BytesOut, Took: r.Duration,
			})
			w.log.Debug("paste request", "method", r.Method, "path", r.Path, "address", r.Address, "status", r.Status, "took", r.Duration)
		},
		Deleted: func(o ledger.Object) {
			w.audit("paste_deleted", "token", slog.String("bucket", o.Bucket), slog.String("key", o.Key), slog.Int64("bytes", o.Size))
		},
		Limited: func(address string) { w.log.Debug("a paste request exceeded its rate limit", "address", address) },
		Failed:  func(what string, err error) { w.log.Warn("a paste request failed", "what", what, "error", err) },
	}
}

// method keeps made-up methods out of the labels of metrics.
func method(name string) string {
	switch name {
	case "GET", "HEAD", "POST", "PUT", "DELETE":
		return name
	}
	return "other"
}

// smallRequest bounds the bytes of requests that count as client latency: the
// duration of larger ones depends on their bytes.
const smallRequest = 256 << 10

// judged are the operations that count as client latency. Each is about one object
// or part, so that their durations are comparable. The duration of a copy, a
// completion, a listing or a multi-object delete depends on its work.
var judged = map[string]throttle.Kind{
	"GetObject": throttle.Reads, "HeadObject": throttle.Reads,
	"PutObject": throttle.Writes, "UploadPart": throttle.Writes, "DeleteObject": throttle.Writes,
}

// noteLatency records the server's time for a small request of an object.
func (w *observer) noteLatency(r s3.RequestEvent) {
	kind, known := judged[r.Operation]
	if known && r.Status < 400 && max(r.BytesIn, r.BytesOut) <= smallRequest {
		w.throttle.Request(kind, r.Served)
	}
}
