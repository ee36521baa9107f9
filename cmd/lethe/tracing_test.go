package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collected is an exporter that keeps what it is given.
type collected struct {
	mu   sync.Mutex
	list []sdktrace.ReadOnlySpan
}

func (c *collected) ExportSpans(_ context.Context, list []sdktrace.ReadOnlySpan) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, list...)
	return nil
}

func (c *collected) Shutdown(context.Context) error { return nil }

// text is all that the spans say.
func (c *collected) text() string {
	var b strings.Builder
	for _, s := range c.list {
		fmt.Fprintln(&b, s.Name(), s.Attributes(), s.Status(), s.Events(), s.Resource())
	}
	return b.String()
}

// trace is the spans of a trace.
func (c *collected) trace(id trace.TraceID) (list []sdktrace.ReadOnlySpan) {
	for _, s := range c.list {
		if s.SpanContext().TraceID() == id {
			list = append(list, s)
		}
	}
	return list
}

// attribute is the value of a span's attribute, as text.
func attributeOf(s sdktrace.ReadOnlySpan, key string) string {
	for _, a := range s.Attributes() {
		if string(a.Key) == key {
			return a.Value.Emit()
		}
	}
	return ""
}

// below checks that a trace has spans of these names, each below the one given
// with it.
func below(t *testing.T, list []sdktrace.ReadOnlySpan, want map[string]string) {
	t.Helper()
	byID := map[trace.SpanID]sdktrace.ReadOnlySpan{}
	for _, s := range list {
		byID[s.SpanContext().SpanID()] = s
	}
	have := map[string][]string{}
	roots := 0
	for _, s := range list {
		name := "nothing of this trace"
		if p := byID[s.Parent().SpanID()]; p != nil {
			name = p.Name()
		} else {
			roots++
		}
		have[s.Name()] = append(have[s.Name()], name)
	}
	for child, parent := range want {
		if !slices.Contains(have[child], parent) {
			t.Errorf("no span %q below %q; there are %v", child, parent, have)
		}
	}
	if roots != 1 {
		t.Errorf("the trace is not one: it has %d roots: %v", roots, have)
	}
}

const (
	clientTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	traceparent = "00-" + clientTrace + "-00f067aa0ba902b7-01"
)

// traced runs a server with traces, puts an object as part of a client's trace,
// removes it, and reclaims it.
func traced(t *testing.T, settings ...string) (*collected, []string) {
	t.Helper()
	c := &collected{}
	w := newWorld(t, append(settings, "tracing.enabled=true", "tracing.sample_ratio=1", "cache.size=0B", "reclaim.clean.batch=2")...)
	w.spans = c
	w.start()
	private := []string{"bucket-of-alice", "love-letters", w.app.Root.Secret.Reveal(), w.app.Root.Access}
	w.bucket(private[0])
	bucket, key := private[0], private[1]
	with := func(o *awss3.Options) {
		o.APIOptions = append(o.APIOptions, smithyhttp.SetHeaderValue("traceparent", traceparent))
	}
	_, err := w.s3("", "").PutObject(context.Background(), &awss3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader("dear Bob")}, with)
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.s3("", "").GetObject(context.Background(), &awss3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(out.Body); err != nil {
		t.Fatal(err)
	}
	_ = out.Body.Close()
	none := "there-is-no-such-key"
	if _, err := w.s3("", "").GetObject(context.Background(), &awss3.GetObjectInput{Bucket: &bucket, Key: &none}); err == nil {
		t.Fatal("an object that is not there was got")
	}
	w.remove(bucket, key)
	w.clock.Advance(time.Hour)
	w.ok("reclaim", "--once", "--only", "clean,expire")
	w.stop()
	return c, private
}

// One trace leads from a client's request over the object's operation to each
// transaction and each call of a backend, and one from a run over its batches.
func TestOneTraceForARequestAndForARun(t *testing.T) {
	c, private := traced(t)
	id, err := trace.TraceIDFromHex(clientTrace)
	if err != nil {
		t.Fatal(err)
	}
	put := c.trace(id)
	below(t, put, map[string]string{
		"s3 PutObject": "nothing of this trace", "object put": "s3 PutObject",
		"ledger Begin": "object put", "backend put": "object put", "ledger Commit": "object put",
	})
	for _, s := range put {
		if s.Name() == "s3 PutObject" && s.Parent().SpanID().String() != "00f067aa0ba902b7" {
			t.Errorf("the request is below %s", s.Parent().SpanID())
		}
		if s.Name() == "ledger Commit" && (attributeOf(s, "lethe.tries") != "1" || attributeOf(s, "db.system.name") != "sqlite") {
			t.Errorf("the commit says %v", s.Attributes())
		}
		if s.Name() == "backend put" && (attributeOf(s, "lethe.bytes") != "8" || attributeOf(s, "lethe.backend") != "main" || attributeOf(s, "lethe.outcome") != "ok") {
			t.Errorf("the put says %v", s.Attributes())
		}
	}
	runs := map[string]int{}
	for _, s := range c.list {
		switch s.Name() {
		case "reclaim run":
			runs[attributeOf(s, "lethe.routine")]++
			below(t, c.trace(s.SpanContext().TraceID()), map[string]string{
				"reclaim batch": "reclaim run", "ledger ClaimCondemned": "reclaim batch",
				"backend delete": "reclaim batch", "ledger Settle": "reclaim batch",
			})
		case "s3 GetObject":
			if attributeOf(s, "http.response.status_code") == "200" {
				below(t, c.trace(s.SpanContext().TraceID()), map[string]string{"object get": "s3 GetObject", "ledger Resolve": "object get", "backend get": "object get"})
			}
		}
	}
	if runs["clean"] != 1 || runs["expire"] != 0 {
		t.Errorf("there are spans of these runs: %v; those that did nothing should leave none", runs)
	}
	for _, p := range private {
		if strings.Contains(c.text(), p) {
			t.Errorf("%q is in the spans:\n%s", p, c.text())
		}
	}
}

// Names appear if they are wanted, secrets never do; a client's trace is not
// followed if that is not wanted.
func TestTracesWithNamesAndWithoutParents(t *testing.T) {
	c, private := traced(t, "tracing.names=true", "tracing.accept_parent=false")
	text := c.text()
	for i, p := range private {
		if shown := strings.Contains(text, p); shown != (i < 2) {
			t.Errorf("that %q is in the spans is %v", p, shown)
		}
	}
	if strings.Contains(text, clientTrace) {
		t.Error("the client's trace went on")
	}
}

// Spans reach a collector as OTLP, with the headers that the environment names.
func TestSpansReachACollector(t *testing.T) {
	var mu sync.Mutex
	names, refused := map[string]bool{}, 0
	h := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, err := io.ReadAll(r.Body)
		var in coltrace.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("x-token") != "abc" || proto.Unmarshal(body, &in) != nil {
			refused++
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		for _, res := range in.ResourceSpans {
			for _, sc := range res.ScopeSpans {
				for _, s := range sc.Spans {
					names[s.Name] = true
				}
			}
		}
	}
	srv := httptest.NewServer(http.HandlerFunc(h))
	defer srv.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-token=abc")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
	w := newWorld(t, "tracing.enabled=true", "tracing.sample_ratio=1", "tracing.endpoint="+srv.URL).start()
	w.bucket("first")
	w.put("first", "a", "bytes", "")
	w.stop()
	mu.Lock()
	defer mu.Unlock()
	if !names["s3 PutObject"] || !names["backend put"] || refused > 0 {
		t.Errorf("the collector got %v, and refused %d", names, refused)
	}
}
