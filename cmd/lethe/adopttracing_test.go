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
	"google.golang.org/protobuf/proto"
)

// Runs of adoption are traces, with their batches; a wrong section is told of before
// anything runs.
func TestAdoptTraces(t *testing.T) {
	var mu sync.Mutex
	sent := map[string]string{} // the name of each span's parent, by its own and its routine
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var got coltrace.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &got); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		names := map[string]string{}
		for _, resource := range got.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				for _, s := range scope.GetSpans() {
					names[string(s.GetSpanId())] = s.GetName()
				}
				for _, s := range scope.GetSpans() {
					for _, a := range s.GetAttributes() {
						if a.GetKey() == "lethe.routine" {
							sent[s.GetName()+" of "+a.GetValue().GetStringValue()] = names[string(s.GetParentSpanId())]
						}
					}
				}
			}
		}
	}))
	defer collector.Close()
	a := newAdopted(t, strings.NewReplacer("\ncollections:", "\ntracing: {enabled: true, endpoint: \""+collector.URL+"\", sample_ratio: 1}\ncollections:"))
	if _, err := a.store.Create(t.Context(), []byte("short"), time.Millisecond); err != nil {
		t.Fatal(err)
	}
	a.ok([]string{"pastes is guarded"}, "guard", "install", a.file, "--yes")
	a.ok([]string{"rows 1"}, "run", a.file, "--once")
	mu.Lock()
	defer mu.Unlock()
	for span, parent := range map[string]string{"reclaim run of expire pastes": "", "reclaim batch of expire pastes": "reclaim run"} {
		if got, there := sent[span]; !there || got != parent {
			t.Errorf("no span %q below %q; there are %q", span, parent, sent)
		}
	}
}

func TestAdoptTracesAreChecked(t *testing.T) {
	a := newAdopted(t, strings.NewReplacer("\ncollections:", "\ntracing: {enabled: true, endpoint: \"collector:4318\", sample_ratio: 7}\ncollections:"))
	code, out := a.run("check", a.file)
	if code == 0 || !strings.Contains(out, "tracing.endpoint: is no address") || !strings.Contains(out, "tracing.sample_ratio: is 7") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}
