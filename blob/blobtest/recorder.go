package blobtest

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// Recorder is a store that records its effects, in order. Each call is recorded
// when it begins and when it has ended, one event per key, so that an order across
// stores and ledger can be asserted on one trace:
//
//	blob put begin KEY
//	blob put end KEY OUTCOME
//
// OUTCOME is as Name returns it. The body of a Get is not recorded.
type Recorder struct {
	inner blob.Store
	event func(string)
}

var (
	_ blob.Store      = (*Recorder)(nil)
	_ blob.Unfinished = (*Recorder)(nil)
	_ blob.Spacer     = (*Recorder)(nil)
)

// NewRecorder wraps inner; event is called from the goroutine of the call and
// may be shared with other recorders.
func NewRecorder(inner blob.Store, event func(string)) *Recorder {
	return &Recorder{inner: inner, event: event}
}

// Name returns a word for the outcome that err means: ok, not-exist, exist,
// invalid-key, not-done, full, down, unknown, or error.
func Name(err error) string {
	if err == nil {
		return "ok"
	}
	for _, named := range []struct {
		err  error
		name string
	}{
		{blob.ErrUnknown, "unknown"},
		{blob.ErrNotExist, "not-exist"},
		{blob.ErrExist, "exist"},
		{blob.ErrInvalidKey, "invalid-key"},
		{blob.ErrFull, "full"},
		{blob.ErrDown, "down"},
		{blob.ErrNotDone, "not-done"},
	} {
		if errors.Is(err, named.err) {
			return named.name
		}
	}
	return "error"
}

func (r *Recorder) begin(op Op, key string) { r.event(fmt.Sprintf("blob %s begin %s", op, key)) }

func (r *Recorder) end(op Op, key string, err error) {
	r.event(fmt.Sprintf("blob %s end %s %s", op, key, Name(err)))
}

// Put implements blob.Store.
func (r *Recorder) Put(ctx context.Context, key string, body io.Reader, size int64) error {
	r.begin(OpPut, key)
	err := r.inner.Put(ctx, key, body, size)
	r.end(OpPut, key, err)
	return err
}

// Get implements blob.Store.
func (r *Recorder) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	r.begin(OpGet, key)
	body, err := r.inner.Get(ctx, key, offset, length)
	r.end(OpGet, key, err)
	return body, err
}

// Stat implements blob.Store.
func (r *Recorder) Stat(ctx context.Context, key string) (blob.Info, error) {
	r.begin(OpStat, key)
	info, err := r.inner.Stat(ctx, key)
	r.end(OpStat, key, err)
	return info, err
}

// Delete implements blob.Store. A key without a Result ends with the error of
// the call, or with "missing".
func (r *Recorder) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	for _, key := range keys {
		r.begin(OpDelete, key)
	}
	results, err := r.inner.Delete(ctx, keys)
	for _, result := range results {
		r.end(OpDelete, result.Key, result.Err)
	}
	if len(results) < len(keys) {
		r.endMissing(keys, results, err)
	}
	return results, err
}

func (r *Recorder) endMissing(keys []string, results []blob.Result, err error) {
	answered := map[string]bool{}
	for _, result := range results {
		answered[result.Key] = true
	}
	for _, key := range keys {
		switch {
		case answered[key]:
		case err != nil:
			r.end(OpDelete, key, err)
		default:
			r.event(fmt.Sprintf("blob %s end %s missing", OpDelete, key))
		}
	}
}

// List implements blob.Store; its event names the prefix.
func (r *Recorder) List(ctx context.Context, prefix, after string, fn func(blob.Info) error) error {
	r.begin(OpList, prefix)
	err := r.inner.List(ctx, prefix, after, fn)
	r.end(OpList, prefix, err)
	return err
}

// SweepUnfinished implements blob.Unfinished by the underlying store.
func (r *Recorder) SweepUnfinished(ctx context.Context, before lethe.Time) (int, int64, error) {
	r.begin("sweep", before.String())
	n, bytes, err := sweep(ctx, r.inner, before)
	r.end("sweep", before.String(), err)
	return n, bytes, err
}

// Free implements blob.Spacer by the underlying store; it has no effect to record.
func (r *Recorder) Free(ctx context.Context) (int64, error) { return free(ctx, r.inner) }
