package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/metrics"
	"github.com/lethe-storage/lethe/blob/intercept"
	"github.com/lethe-storage/lethe/internal/app/adoption"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/s3"
)

const (
	// runSpan is the name of the span of a run, and idleKey its attribute that it
	// did nothing.
	runSpan = "reclaim run"
	idleKey = "lethe.idle"
)

// transaction traces a transaction of the ledger.
func (w *observer) transaction(ctx context.Context, name string) (context.Context, func(sqlledger.Transaction)) {
	ctx, sp := w.trace.child(ctx, "ledger "+name, trace.SpanKindClient)
	start := lethe.Awake{}.Now()
	return ctx, func(t sqlledger.Transaction) {
		w.metrics.Transaction(metrics.Transaction{
			Name: t.Name, Engine: t.Engine, Write: t.Write, Tries: t.Tries, Outcome: outcomeOf(t.Err), Took: lethe.Awake{}.Now().Sub(start),
		})
		w.unrecorded(t)
		sp.end(t.Err, attribute.String("db.system.name", t.Engine), attribute.String("lethe.transition", t.Name),
			attribute.Bool("lethe.write", t.Write), attribute.Int("lethe.tries", t.Tries))
	}
}

// calls traces the calls of a backend.
func (w *observer) calls(backend string) intercept.Watch {
	return func(ctx context.Context, op string) (context.Context, func(intercept.Report)) {
		ctx, ended := w.trace.call(ctx, backend, op)
		return ctx, func(c intercept.Report) {
			w.metrics.BackendCall(metrics.BackendCall{
				Backend: backend, Op: c.Op, Outcome: outcomeOf(c.Err), Bytes: c.Bytes, Took: c.Took,
			})
			ended(c, attribute.String("lethe.blob_key", c.Key))
		}
	}
}

// call begins the span of a call of a backend.
func (t *tracer) call(ctx context.Context, backend, op string) (context.Context, func(intercept.Report, ...attribute.KeyValue)) {
	ctx, sp := t.child(ctx, "backend "+op, trace.SpanKindClient, attribute.String("lethe.backend", backend))
	return ctx, func(c intercept.Report, more ...attribute.KeyValue) {
		sp.end(c.Err, append(more, attribute.String("lethe.op", c.Op), attribute.Int("lethe.keys", c.Keys),
			attribute.Int("lethe.failed", c.Failed), attribute.Int64("lethe.bytes", c.Bytes))...)
	}
}

// adoption traces an adoption's runs and its calls to others. The keys are the
// application's own, so they count as names.
func (t *tracer) adoption() adoption.Spans {
	if t == nil {
		return adoption.Spans{}
	}
	return adoption.Spans{
		Spans: t.runs(),
		Backend: func(bucket string) intercept.Watch {
			return func(ctx context.Context, op string) (context.Context, func(intercept.Report)) {
				ctx, ended := t.call(ctx, bucket, op)
				return ctx, func(c intercept.Report) { ended(c, t.named(ctx, bucket, c.Key)...) }
			}
		},
		Call: func(ctx context.Context, name string) (context.Context, func(int, error)) {
			ctx, sp := t.child(ctx, name, trace.SpanKindClient)
			return ctx, func(keys int, err error) { sp.end(err, attribute.Int("lethe.keys", keys)) }
		},
	}
}

// runs traces the runs of routines.
func (t *tracer) runs() reclaim.Spans {
	if t == nil {
		return reclaim.Spans{}
	}
	return reclaim.Spans{
		Run: func(ctx context.Context, r ledger.Run) (context.Context, func(map[string]int64, error)) {
			ctx, sp := t.root(ctx, runSpan, trace.SpanKindInternal,
				attribute.String("lethe.routine", r.Routine), attribute.String("lethe.run", string(r.ID)))
			return ctx, func(counts map[string]int64, err error) {
				for name, n := range counts {
					sp.SetAttributes(attribute.Int64("lethe.count."+name, n))
				}
				quiet := err == nil || errors.Is(err, reclaim.ErrRunning)
				sp.end(err, attribute.Bool(idleKey, quiet && len(counts) == 0))
			}
		},
		Batch: func(ctx context.Context, routine string) (context.Context, func(int64, error)) {
			ctx, sp := t.child(ctx, "reclaim batch", trace.SpanKindInternal, attribute.String("lethe.routine", routine))
			return ctx, func(items int64, err error) { sp.end(err, attribute.Int64("lethe.items", items)) }
		},
	}
}

// begun begins the trace of a request of S3, or continues its client's.
func (w *observer) begun(ctx context.Context, traceparent, tracestate string) (context.Context, func(s3.RequestEvent)) {
	if w.trace == nil {
		return ctx, func(s3.RequestEvent) {}
	}
	ctx, sp := w.trace.root(w.trace.parent(ctx, traceparent, tracestate), "s3", trace.SpanKindServer)
	return ctx, func(r s3.RequestEvent) {
		sp.SetName("s3 " + cmp.Or(r.Operation, "other"))
		sp.SetAttributes(attribute.String("http.request.method", r.Method), attribute.Int("http.response.status_code", r.Status),
			attribute.String("lethe.request", r.ID), attribute.String("lethe.code", r.Code),
			attribute.Int64("lethe.bytes_in", r.BytesIn), attribute.Int64("lethe.bytes_out", r.BytesOut))
		sp.SetAttributes(w.trace.named(ctx, r.Bucket, r.Key)...)
		if r.Status >= 500 {
			sp.SetStatus(codes.Error, fmt.Sprint(r.Status))
		}
		sp.End()
	}
}
