package adoption

import (
	"context"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/intercept"
	"github.com/lethe-storage/lethe/reclaim"
)

// Spans report the beginning and the end of work, for traces: runs and their
// batches, and their calls of others. Nil functions report nothing.
type Spans struct {
	reclaim.Spans
	// Backend reports the calls of a bucket, by its name in the description.
	Backend func(bucket string) intercept.Watch
	// Call reports a call other than a bucket's: a transaction of the database,
	// or a drop of copies, with their number. Names are of a fixed set.
	Call func(ctx context.Context, name string) (context.Context, func(keys int, err error))
}

// transactions reports those of the database.
func (s Spans) transactions() func(ctx context.Context, name string) (context.Context, func(error)) {
	if s.Call == nil {
		return nil
	}
	return func(ctx context.Context, name string) (context.Context, func(error)) {
		ctx, ended := s.Call(ctx, "database "+name)
		return ctx, func(err error) { ended(0, err) }
	}
}

// tracedCopies reports each drop.
type tracedCopies struct {
	adopt.Copies
	spans Spans
}

// Drop implements adopt.Copies.
func (c tracedCopies) Drop(ctx context.Context, keys []string) error {
	ctx, ended := c.spans.Call(ctx, "cache drop")
	err := c.Copies.Drop(ctx, keys)
	ended(len(keys), err)
	return err
}

// hookedBucket is a bucket with a hook around each call except opening, probing and closing.
type hookedBucket struct {
	*intercept.Store
	bucket bucket
}

// CopyForeign implements bucket: it unwraps a source with a hook.
func (b hookedBucket) CopyForeign(ctx context.Context, from blob.Foreign, seen blob.ForeignInfo, key string, fresh bool) error {
	if hooked, ok := from.(hookedBucket); ok {
		from = hooked.Store
	}
	return b.Store.CopyForeign(ctx, from, seen, key, fresh)
}

// Probe implements bucket.
func (b hookedBucket) Probe(ctx context.Context) error { return b.bucket.Probe(ctx) }

// Close implements bucket.
func (b hookedBucket) Close() error { return b.bucket.Close() }
