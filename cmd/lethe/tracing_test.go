package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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

	"github.com/lethe-storage/lethe/admin/api"
)

// collected is an exporter that keeps its spans.
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

// text returns the text of all spans.
func (c *collected) text() string {
	var b strings.Builder
	for _, s := range c.list {
		fmt.Fprintln(&b, s.Name(), s.Attributes(), s.Status(), s.Events(), s.Resource())
	}
	return b.String()
}

// trace returns the spans of a trace.
func (c *collected) trace(id trace.TraceID) (list []sdktrace.ReadOnlySpan) {
	for _, s := range c.list {
		if s.SpanContext().TraceID() == id {
			list = append(list, s)
		}
	}
	return list
}

// attributeOf returns the value of a span's attribute, as text.
func attributeOf(s sdktrace.ReadOnlySpan, key string) string {
	for _, a := range s.Attributes() {
		if string(a.Key) == key {
			return a.Value.String()
		}
	}
	return ""
}

// below checks that a trace has spans of these names, each below the given
// parent.
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

// One trace contains a client's request, the object's operation, its
// transactions and its calls of backends. Another one contains a run and its
// batches.
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
			if attributeOf(s, "lethe.idle") == "true" {
				continue
			}
			below(t, c.trace(s.SpanContext().TraceID()), map[string]string{
				"admin reclaim": "nothing of this trace", "reclaim run": "admin reclaim",
				"reclaim batch": "reclaim run", "ledger ClaimCondemned": "reclaim batch",
				"backend delete": "reclaim batch", "ledger Settle": "reclaim batch",
			})
		case "s3 GetObject":
			if attributeOf(s, "http.response.status_code") == "200" {
				below(t, c.trace(s.SpanContext().TraceID()), map[string]string{"object get": "s3 GetObject", "ledger Resolve": "object get", "backend get": "object get"})
			}
		}
	}
	if runs["clean"] != 1 || runs["expire"] != 1 {
		t.Errorf("there are spans of these runs: %v; an operator asked for both", runs)
	}
	for _, p := range private {
		if strings.Contains(c.text(), p) {
			t.Errorf("%q is in the spans:\n%s", p, c.text())
		}
	}
}

// asker sends requests to servers of a world as part of traces, one for each
// letter.
type asker struct {
	t     *testing.T
	token string // of the admin API
}

func (a asker) traceOf(letter string) string { return strings.Repeat(letter, 32) }

// ask sends a request in the trace of a letter, and returns its body and
// header.
func (a asker) ask(letter, method, url, body string, header ...string) (string, http.Header) {
	a.t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("traceparent", "00-"+a.traceOf(letter)+"-00f067aa0ba902b7-01")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return string(text), resp.Header
}

// check compares the trace of a letter with the expected spans and parents, and
// the status of its first.
func (a asker) check(c *collected, letter, status string, want map[string]string) {
	a.t.Helper()
	id, err := trace.TraceIDFromHex(a.traceOf(letter))
	if err != nil {
		a.t.Fatal(err)
	}
	list := c.trace(id)
	below(a.t, list, want)
	for _, s := range list {
		if want[s.Name()] == "nothing of this trace" && (attributeOf(s, "http.response.status_code") != status || s.Parent().SpanID().String() != "00f067aa0ba902b7") {
			a.t.Errorf("%s says %v, want the status %s", s.Name(), s.Attributes(), status)
		}
	}
}

// A paste, or a call of the admin API, is one trace from the client's span to
// each transaction and each call of a backend. No span contains a paste's code
// or token, or the admin's.
func TestOneTraceForAPasteAndForACall(t *testing.T) {
	for _, names := range []string{"false", "true"} {
		t.Run("names "+names, func(t *testing.T) { oneTraceForAPasteAndForACall(t, names) })
	}
}

func oneTraceForAPasteAndForACall(t *testing.T, names string) {
	c := &collected{}
	w := newWorld(t, "tracing.enabled=true", "tracing.sample_ratio=1", "tracing.names="+names, "cache.size=0B", "server.admin.listen=127.0.0.1:0")
	w.spans = c
	w.start()
	token, err := os.ReadFile(filepath.Join(w.dir, "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	a := asker{t, strings.TrimSpace(string(token))}
	pastes, calls := w.app.Addresses().Paste, w.app.Addresses().Admin+api.Prefix
	at, header := a.ask("1", http.MethodPost, pastes, "dear Bob")
	code := strings.TrimSpace(at[strings.LastIndex(at, "/")+1:])
	if text, _ := a.ask("2", http.MethodGet, pastes+"/"+code+"/raw", ""); text != "dear Bob" {
		t.Fatalf("the paste is %q", text)
	}
	a.ask("3", http.MethodDelete, pastes+"/"+code, "", "X-Delete-Token", header.Get("X-Delete-Token"))
	bearer := "Bearer " + a.token
	a.ask("4", http.MethodPost, calls+"backends/hold", `{"id":"main"}`, "Authorization", bearer)
	a.ask("5", http.MethodPost, calls+"check", "", "Authorization", bearer)
	a.ask("6", http.MethodPost, calls+"status", "")
	a.ask("7", http.MethodGet, calls+"no-such-call/"+code, "", "Authorization", bearer)
	w.stop()
	none := "nothing of this trace"
	a.check(c, "1", "201", map[string]string{
		"paste POST": none, "object put": "paste POST", "ledger Begin": "object put", "backend put": "object put", "ledger Commit": "object put",
	})
	a.check(c, "2", "200", map[string]string{"paste GET": none, "object get": "paste GET", "ledger Resolve": "object get", "backend get": "object get"})
	a.check(c, "3", "204", map[string]string{"paste DELETE": none, "object delete": "paste DELETE", "ledger Delete": "object delete"})
	a.check(c, "4", "200", map[string]string{"admin backends/hold": none, "ledger HoldBackend": "admin backends/hold"})
	a.check(c, "5", "200", map[string]string{"admin check": none, "reclaim run": "admin check", "reclaim batch": "reclaim run", "backend list": "reclaim batch"})
	a.check(c, "6", "401", map[string]string{"admin status": none})
	a.check(c, "7", "404", map[string]string{"admin other": none})
	for _, p := range []string{code, header.Get("X-Delete-Token"), a.token, "dear Bob"} {
		if len(p) < 4 || strings.Contains(c.text(), p) {
			t.Errorf("%q is in the spans:\n%s", p, c.text())
		}
	}
}

// Names appear if configured, secrets never. A client's trace is ignored if so
// configured.
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
