package app

import (
	"context"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// heldSpans bounds the spans of one run that are kept until it ends; a run with
// more of them is not idle.
const heldSpans = 256

// idleFilter drops the traces of runs that found nothing to do: every routine has
// one every few seconds. Spans of a run are kept until its end.
type idleFilter struct {
	next sdktrace.SpanProcessor

	mu   sync.Mutex
	runs map[trace.TraceID][]sdktrace.ReadOnlySpan
}

var _ sdktrace.SpanProcessor = (*idleFilter)(nil)

// OnStart implements sdktrace.SpanProcessor.
func (f *idleFilter) OnStart(ctx context.Context, s sdktrace.ReadWriteSpan) {
	if s.Name() == runSpan && !s.Parent().IsValid() {
		f.mu.Lock()
		if f.runs == nil {
			f.runs = map[trace.TraceID][]sdktrace.ReadOnlySpan{}
		}
		f.runs[s.SpanContext().TraceID()] = []sdktrace.ReadOnlySpan{}
		f.mu.Unlock()
	}
	f.next.OnStart(ctx, s)
}

// OnEnd implements sdktrace.SpanProcessor.
func (f *idleFilter) OnEnd(s sdktrace.ReadOnlySpan) {
	for _, s := range f.released(s) {
		f.next.OnEnd(s)
	}
}

// released are the spans that may be exported after one has ended.
func (f *idleFilter) released(s sdktrace.ReadOnlySpan) []sdktrace.ReadOnlySpan {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := s.SpanContext().TraceID()
	kept, run := f.runs[id]
	switch ends := s.Name() == runSpan && !s.Parent().IsValid(); {
	case !run:
		return []sdktrace.ReadOnlySpan{s}
	case ends && idle(s):
		delete(f.runs, id)
		return nil
	case ends, len(kept) >= heldSpans:
		delete(f.runs, id)
		return append(kept, s)
	}
	f.runs[id] = append(kept, s)
	return nil
}

// idle reports whether a run did nothing, and nothing failed.
func idle(s sdktrace.ReadOnlySpan) bool {
	for _, a := range s.Attributes() {
		if a.Key == idleKey {
			return a.Value.AsBool()
		}
	}
	return false
}

// Shutdown implements sdktrace.SpanProcessor.
func (f *idleFilter) Shutdown(ctx context.Context) error { return f.next.Shutdown(ctx) }

// ForceFlush implements sdktrace.SpanProcessor.
func (f *idleFilter) ForceFlush(ctx context.Context) error { return f.next.ForceFlush(ctx) }
