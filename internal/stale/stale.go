// Package stale answers reads from memory while the ledger does not answer, for
// operators who choose to (server.stale_reads): rows that were read within a
// window, and do not end within it. What another instance has deleted or replaced
// just before can so be seen once more; that is the price, and the window bounds
// it. Nothing that was not read lately is answered, and no write.
package stale

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/failpoint"
	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/object"
)

const (
	// most entries are remembered: some 20 MB at worst.
	most = 10_000
	// mostSegments bounds what one of them may hold.
	mostSegments = 16
)

// Options of a Reads.
type Options struct {
	Window time.Duration
	// Down says that the ledger is known not to answer, so that it need not be asked
	// for what is remembered. Nil: it always is.
	Down func() bool
	// Answered is told of each read that was answered from memory. May be nil.
	Answered func()
	// Monotonic measures the window (default lethe.Monotonic).
	Monotonic lethe.Clock
}

// Reads remembers what was read lately. It is safe for concurrent use.
type Reads struct {
	o       Options
	entries *otter.Cache[string, entry]
}

type entry struct {
	value any
	at    lethe.Time // by Options.Monotonic
}

// New makes a memory.
func New(o Options) (*Reads, error) {
	if o.Monotonic == nil {
		o.Monotonic = lethe.Monotonic{}
	}
	entries, err := otter.New(&otter.Options[string, entry]{MaximumSize: most})
	if err != nil {
		return nil, fmt.Errorf("stale: %w", err)
	}
	return &Reads{o, entries}, nil
}

// read asks, and remembers the answer; if the ledger does not answer it takes
// what it remembers. fit, if set, says of an answer whether it may be told so
// long after it was given.
func read[T any](r *Reads, key string, fit func(T, time.Duration) bool, ask func() (T, error)) (T, error) {
	if r.o.Down != nil && r.o.Down() {
		if v, ok := remembered(r, key, fit); ok {
			return v, nil
		}
	}
	asked := r.o.Monotonic.Now()
	v, err := ask()
	switch {
	case err == nil:
		r.entries.Set(key, entry{v, asked})
	case errors.Is(err, lethe.ErrUnavailable):
		if old, ok := remembered(r, key, fit); ok {
			return old, nil
		}
	default:
		r.entries.Invalidate(key)
	}
	return v, err
}

func remembered[T any](r *Reads, key string, fit func(T, time.Duration) bool) (v T, ok bool) {
	e, ok := r.entries.GetIfPresent(key)
	if !ok {
		return v, false
	}
	age := r.o.Monotonic.Now().Sub(e.at)
	v, ok = e.value.(T)
	if !ok || age > r.o.Window || fit != nil && !fit(v, age) {
		var none T
		return none, false
	}
	if r.o.Answered != nil {
		r.o.Answered()
	}
	return v, true
}

// The keys of what is remembered; no bucket's name has a slash.
func bucketKey(name string) string           { return "b/" + name }
func documentKey(bucket, kind string) string { return "d/" + bucket + "/" + kind }
func objectKey(bucket, key string) string    { return "o/" + bucket + "/" + key }

// Ledger is a ledger whose reads of single objects go through the memory.
type Ledger struct {
	failpoint.Ledger
	r *Reads
}

// Ledger puts the memory before a ledger.
func (r *Reads) Ledger(l failpoint.Ledger) *Ledger { return &Ledger{l, r} }

var _ object.Ledger = (*Ledger)(nil)

// Bucket implements object.Ledger.
func (l *Ledger) Bucket(ctx context.Context, name string) (meta.Bucket, error) {
	return read(l.r, bucketKey(name), nil, func() (meta.Bucket, error) { return l.Ledger.Bucket(ctx, name) })
}

// Document implements object.Ledger.
func (l *Ledger) Document(ctx context.Context, bucket, kind string) ([]byte, error) {
	return read(l.r, documentKey(bucket, kind), nil, func() ([]byte, error) { return l.Ledger.Document(ctx, bucket, kind) })
}

// Resolve implements object.Ledger.
func (l *Ledger) Resolve(ctx context.Context, bucket, key string) (meta.Resolved, error) {
	fit := func(v meta.Resolved, age time.Duration) bool {
		due := v.Object.DueAt()
		return len(v.Segments) <= mostSegments && (due == 0 || due > v.Now.Add(age+l.r.o.Window))
	}
	return read(l.r, objectKey(bucket, key), fit, func() (meta.Resolved, error) { return l.Ledger.Resolve(ctx, bucket, key) })
}

// forget drops an object before and after it is changed, whatever came of it: a
// read may have begun in between.
func forget[T any](l *Ledger, keys []string, change func() (T, error)) (T, error) {
	drop := func() {
		for _, k := range keys {
			l.r.entries.Invalidate(k)
		}
	}
	drop()
	defer drop()
	return change()
}

// Commit implements object.Ledger.
func (l *Ledger) Commit(ctx context.Context, c meta.Commit) (meta.Committed, error) {
	return forget(l, []string{objectKey(c.Object.Bucket, c.Object.Key)}, func() (meta.Committed, error) { return l.Ledger.Commit(ctx, c) })
}

// Complete implements object.Ledger.
func (l *Ledger) Complete(ctx context.Context, c meta.Completion) (meta.Committed, error) {
	return forget(l, []string{objectKey(c.Bucket, c.Key)}, func() (meta.Committed, error) { return l.Ledger.Complete(ctx, c) })
}

// Update implements object.Ledger.
func (l *Ledger) Update(ctx context.Context, u meta.Update) (meta.Object, error) {
	return forget(l, []string{objectKey(u.Bucket, u.Key)}, func() (meta.Object, error) { return l.Ledger.Update(ctx, u) })
}

// Delete implements object.Ledger.
func (l *Ledger) Delete(ctx context.Context, d meta.Deletion) (meta.Deletions, error) {
	keys := make([]string, len(d.Items))
	for i, item := range d.Items {
		keys[i] = objectKey(d.Bucket, item.Key)
	}
	return forget(l, keys, func() (meta.Deletions, error) { return l.Ledger.Delete(ctx, d) })
}

// ConfigureBucket implements object.Ledger.
func (l *Ledger) ConfigureBucket(ctx context.Context, name string, s meta.BucketSettings) (meta.Bucket, error) {
	return forget(l, []string{bucketKey(name)}, func() (meta.Bucket, error) { return l.Ledger.ConfigureBucket(ctx, name, s) })
}

// DeleteBucket implements object.Ledger.
func (l *Ledger) DeleteBucket(ctx context.Context, name string) error {
	_, err := forget(l, []string{bucketKey(name)}, func() (any, error) { return nil, l.Ledger.DeleteBucket(ctx, name) })
	return err
}

// SetBucketOwner implements object.Ledger.
func (l *Ledger) SetBucketOwner(ctx context.Context, bucket, owner string) error {
	_, err := forget(l, []string{bucketKey(bucket)}, func() (any, error) { return nil, l.Ledger.SetBucketOwner(ctx, bucket, owner) })
	return err
}

// PutDocument implements object.Ledger.
func (l *Ledger) PutDocument(ctx context.Context, bucket, kind string, body []byte) error {
	_, err := forget(l, []string{documentKey(bucket, kind)}, func() (any, error) { return nil, l.Ledger.PutDocument(ctx, bucket, kind, body) })
	return err
}

// DeleteDocument implements object.Ledger.
func (l *Ledger) DeleteDocument(ctx context.Context, bucket, kind string) error {
	_, err := forget(l, []string{documentKey(bucket, kind)}, func() (any, error) { return nil, l.Ledger.DeleteDocument(ctx, bucket, kind) })
	return err
}

// Keyring looks access keys up.
type Keyring interface {
	AccessKey(ctx context.Context, id string) (meta.AccessKey, error)
}

// Keys puts the memory before the access keys.
func (r *Reads) Keys(k Keyring) Keyring { return keys{k, r} }

type keys struct {
	in Keyring
	r  *Reads
}

// AccessKey implements Keyring.
func (k keys) AccessKey(ctx context.Context, id string) (meta.AccessKey, error) {
	return read(k.r, "k/"+id, nil, func() (meta.AccessKey, error) { return k.in.AccessKey(ctx, id) })
}
