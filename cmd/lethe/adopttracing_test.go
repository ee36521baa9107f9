package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// traces is a collector of spans.
type traces struct {
	*httptest.Server
	mu    sync.Mutex
	below map[string]bool // "name below name", and the routine of runs and batches
	text  strings.Builder // the text of all spans
}

func newTraces(t *testing.T) *traces {
	c := &traces{below: map[string]bool{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var got coltrace.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &got); err != nil {
			t.Error(err)
		}
		c.take(&got)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *traces) take(got *coltrace.ExportTraceServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text.WriteString(got.String())
	names := map[string]string{"": "nothing"}
	var spans []*v1.Span
	for _, resource := range got.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			spans = append(spans, scope.GetSpans()...)
		}
	}
	for _, s := range spans {
		names[string(s.GetSpanId())] = s.GetName()
		for _, a := range s.GetAttributes() {
			if a.GetKey() == "lethe.routine" {
				names[string(s.GetSpanId())] += " of " + a.GetValue().GetStringValue()
			}
		}
	}
	for _, s := range spans {
		c.below[names[string(s.GetSpanId())]+" below "+names[string(s.GetParentSpanId())]] = true
	}
}

// Runs of adoption are traces, with their batches and the calls of database,
// bucket and cache. They do not contain the application's keys.
func TestAdoptTraces(t *testing.T) {
	c := newTraces(t)
	a := newAdopted(t, strings.NewReplacer("unreferenced: 10m", "unreferenced: 0s", "\ncollections:", "\ntracing: {enabled: true, endpoint: \""+c.URL+"\", sample_ratio: 1}\ncollections:"))
	p, err := a.store.Create(t.Context(), []byte("short"), time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	a.ok([]string{"pastes is guarded"}, "guard", "install", a.file, "--yes")
	a.ok([]string{"rows 1", "objects 1"}, "run", a.file, "--once")
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, want := range []string{
		"reclaim run of expire pastes below nothing", "reclaim batch of expire pastes below reclaim run of expire pastes",
		"database claim rows below reclaim batch of expire pastes", "cache drop below reclaim batch of expire pastes",
		"database settle rows below reclaim batch of expire pastes",
		"backend delete below reclaim batch of expire pastes", "database confirm contents below reclaim batch of expire pastes",
	} {
		if !c.below[want] {
			t.Errorf("no span %q; there are %v", want, c.below)
		}
	}
	for _, private := range []string{p.Code, p.Hash} {
		if private == "" || strings.Contains(c.text.String(), private) {
			t.Errorf("%q is in the spans:\n%s", private, c.text.String())
		}
	}
}

func TestAdoptTracesAreChecked(t *testing.T) {
	for tracing, want := range map[string]string{
		`endpoint: "collector:4318"`: "tracing.endpoint: is no address", "sample_ratio: 7": "tracing.sample_ratio: ",
	} {
		a := newAdopted(t, strings.NewReplacer("\ncollections:", "\ntracing: {enabled: true, "+tracing+"}\ncollections:"))
		if code, out := a.run("check", a.file); code == 0 || !strings.Contains(out, want) {
			t.Errorf("exit code %d, want %q:\n%s", code, want, out)
		}
	}
}
