package app

import (
	"context"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/lethe-storage/lethe/internal/config"
)

// names is an exporter that keeps names.
type names struct{ list []string }

func (n *names) ExportSpans(_ context.Context, list []sdktrace.ReadOnlySpan) error {
	for _, s := range list {
		n.list = append(n.list, s.Name())
	}
	return nil
}

func (n *names) Shutdown(context.Context) error { return nil }

// Runs that found nothing leave no spans, unless a request started them; others
// leave all.
func TestIdleRunsLeaveNoSpans(t *testing.T) {
	ctx, out := context.Background(), &names{}
	tr, err := newTracer(ctx, config.Tracing{SampleRatio: 1}, out, "test")
	if err != nil {
		t.Fatal(err)
	}
	run := func(ctx context.Context, child string, idle bool) {
		ctx, sp := tr.root(ctx, runSpan, trace.SpanKindInternal)
		_, below := tr.child(ctx, child, trace.SpanKindClient)
		below.end(nil)
		sp.end(nil, attribute.Bool(idleKey, idle))
	}
	run(ctx, "of an idle run", true)
	run(ctx, "of a busy run", false)
	asked, request := tr.root(ctx, "request", trace.SpanKindServer)
	run(asked, "of an idle run that was asked for", true)
	request.end(nil)
	if err := tr.provider.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	want := []string{"of a busy run", "of an idle run that was asked for", runSpan, runSpan, "request"}
	if slices.Sort(out.list); !slices.Equal(out.list, want) {
		t.Errorf("the spans are %q, want %q", out.list, want)
	}
}
