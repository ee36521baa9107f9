package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"

	"github.com/lethe-storage/lethe/internal/app/adoption"
	"github.com/lethe-storage/lethe/internal/config"
)

// flushTime bounds sending the last spans when the process ends.
const flushTime = 5 * time.Second

// tracer makes spans from the events of other packages. A nil tracer makes none, at
// no cost.
type tracer struct {
	config.Tracing
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	log      *slog.Logger
}

// openTracing begins to send the spans of a store, if tracing is enabled.
func (s *Store) openTracing(ctx context.Context) error {
	t, err := openTracer(ctx, s.Config.Tracing, s.opt)
	if err != nil {
		return err
	}
	s.watch.trace = t
	s.closing(func() error {
		t.close(ctx)
		return nil
	})
	return nil
}

// OpenSpans begins to send the spans of an adoption, if tracing is enabled. The
// returned function sends the last ones, within flushTime.
func OpenSpans(ctx context.Context, c config.Tracing, o Options) (adoption.Spans, func(), error) {
	if err := c.Validate(); err != nil {
		return adoption.Spans{}, nil, err
	}
	t, err := openTracer(ctx, c, o.withDefaults())
	return t.adoption(), func() { t.close(ctx) }, err
}

// openTracer makes a tracer, nil if tracing is disabled. It does not wait for the
// collector: spans that cannot be sent are dropped, which is logged.
func openTracer(ctx context.Context, c config.Tracing, opt Options) (*tracer, error) {
	if !c.Enabled || strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	exporter := opt.Spans
	if exporter == nil {
		var o []otlptracehttp.Option
		if c.Endpoint != "" {
			o = append(o, otlptracehttp.WithEndpointURL(tracesURL(c.Endpoint)))
		}
		var err error
		if exporter, err = otlptracehttp.New(ctx, o...); err != nil {
			return nil, fmt.Errorf("tracing: %w; correct tracing.endpoint and the environment variables OTEL_EXPORTER_OTLP_*", err)
		}
	}
	sometimes := rate.Sometimes{Interval: repeatAfter}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		sometimes.Do(func() { opt.Log.Warn("spans could not be sent", "error", err) })
	}))
	t, err := newTracer(ctx, c, exporter, opt.Version)
	if err != nil {
		return nil, err
	}
	t.log = opt.Log
	return t, nil
}

// close sends the last spans.
func (t *tracer) close(ctx context.Context) {
	if t == nil {
		return
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	if err := t.provider.Shutdown(last); err != nil {
		t.log.Warn("the last spans could not be sent", "error", err)
	}
}

// tracesURL adds the path of traces to a collector's address without one, as
// specified for OTEL_EXPORTER_OTLP_ENDPOINT.
func tracesURL(endpoint string) string {
	base := strings.TrimRight(endpoint, "/")
	if strings.HasSuffix(base, "/v1/traces") {
		return base
	}
	return base + "/v1/traces"
}

// newTracer makes spans and hands them to an exporter, except those of idle runs.
func newTracer(ctx context.Context, c config.Tracing, exporter sdktrace.SpanExporter, version string) (*tracer, error) {
	own := resource.NewSchemaless(attribute.String("service.name", "lethe"), attribute.String("service.version", version))
	environment, err := resource.New(ctx, resource.WithFromEnv(), resource.WithTelemetrySDK())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("tracing: %w; correct OTEL_RESOURCE_ATTRIBUTES", err)
	}
	about, err := resource.Merge(own, environment)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	o := []sdktrace.TracerProviderOption{
		sdktrace.WithResource(about), sdktrace.WithSpanProcessor(&idleFilter{next: sdktrace.NewBatchSpanProcessor(exporter)}),
	}
	if os.Getenv("OTEL_TRACES_SAMPLER") == "" {
		o = append(o, sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(c.SampleRatio))))
	}
	p := sdktrace.NewTracerProvider(o...)
	return &tracer{Tracing: c, provider: p, tracer: p.Tracer("github.com/lethe-storage/lethe")}, nil
}

// span is an open span; nil is none.
type span struct {
	trace.Span
	names bool // may be shown
}

// unnamedKey marks the context of work whose spans show no names, even if others
// may.
type unnamedKey struct{}

func unnamed(ctx context.Context) context.Context {
	return context.WithValue(ctx, unnamedKey{}, true)
}

// shows reports whether the spans of work show names and texts of errors.
func (t *tracer) shows(ctx context.Context) bool {
	return t != nil && t.Names && ctx.Value(unnamedKey{}) == nil
}

// root begins a span that need not have a parent.
func (t *tracer) root(ctx context.Context, name string, kind trace.SpanKind, attrs ...attribute.KeyValue) (context.Context, *span) {
	if t == nil {
		return ctx, nil
	}
	ctx, sp := t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attrs...))
	return ctx, &span{sp, t.shows(ctx)}
}

// child begins a span within another one. Without a parent there is none, so that
// only requests and runs leave traces.
func (t *tracer) child(ctx context.Context, name string, kind trace.SpanKind, attrs ...attribute.KeyValue) (context.Context, *span) {
	if t == nil || !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx, nil
	}
	return t.root(ctx, name, kind, attrs...)
}

// named are the attributes that show names, if that is allowed.
func (t *tracer) named(ctx context.Context, bucket, key string) (out []attribute.KeyValue) {
	if !t.shows(ctx) {
		return nil
	}
	out = append(out, attribute.String("lethe.bucket", bucket))
	if key != "" {
		out = append(out, attribute.String("lethe.key", key))
	}
	return out
}

// parent returns the context of a request that its client traces.
func (t *tracer) parent(ctx context.Context, traceparent, tracestate string) context.Context {
	if t == nil || !t.AcceptParent || traceparent == "" {
		return ctx
	}
	h := http.Header{}
	h.Set("traceparent", traceparent)
	h.Set("tracestate", tracestate)
	return propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(h))
}

// end ends the span by the result of its work. The text of an error contains
// buckets and keys; if they must not be shown only its kind is recorded.
func (s *span) end(err error, attrs ...attribute.KeyValue) {
	if s == nil {
		return
	}
	s.SetAttributes(attrs...)
	kind := outcomeOf(err)
	s.SetAttributes(attribute.String("lethe.outcome", kind))
	if err != nil && !expected[kind] {
		text := kind
		if s.names {
			text = err.Error()
		}
		s.SetStatus(codes.Error, text)
	}
	s.End()
}
