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
	"hash/maphash"
	"sync"
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
	// stripes share out the keys, so that a change of one keeps few reads of others
	// from being remembered.
	stripes = 256
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
	seed    maphash.Seed
	changes [stripes]changes
}

// changes counts those that this instance made of the keys of a stripe. A read
// that was begun before one of them may have seen what was there before.
type changes struct {
	mu sync.Mutex
	n  uint64
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
	return &Reads{o: o, entries: entries, seed: maphash.MakeSeed()}, nil
}

func (r *Reads) stripe(key string) *changes { return &r.changes[maphash.String(r.seed, key)%stripes] }

func (c *changes) soFar() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// remember keeps an answer that was asked for after so many changes, unless there
// was another since.
func (r *Reads) remember(key string, before uint64, e entry) {
	c := r.stripe(key)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == before {
		r.entries.Set(key, e)
	} else {
		r.entries.Invalidate(key)
	}
}

// drop forgets keys, and what reads under way will answer of them.
func (r *Reads) drop(keys ...string) {
	for _, key := range keys {
		c := r.stripe(key)
		c.mu.Lock()
		c.n++
		r.entries.Invalidate(key)
		c.mu.Unlock()
	}
}

// dropAll forgets everything.
func (r *Reads) dropAll() {
	for i := range r.changes {
		c := &r.changes[i]
		c.mu.Lock()
		c.n++
		c.mu.Unlock()
	}
	r.entries.InvalidateAll()
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
	asked, before := r.o.Monotonic.Now(), r.stripe(key).soFar()
	v, err := ask()
	switch {
	case err == nil:
		r.remember(key, before, entry{v, asked})
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
func accessKey(id string) string             { return "k/" + id }

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

// Resolve implements object.Ledger. What may end within the window after it was
// asked for is not told again, so that nothing need be forgotten that expires.
func (l *Ledger) Resolve(ctx context.Context, bucket, key string) (meta.Resolved, error) {
	fit := func(v meta.Resolved, age time.Duration) bool {
		due := v.Object.DueAt()
		return len(v.Segments) <= mostSegments && (due == 0 || due > v.Now.Add(age+l.r.o.Window))
	}
	return read(l.r, objectKey(bucket, key), fit, func() (meta.Resolved, error) { return l.Ledger.Resolve(ctx, bucket, key) })
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
	return read(k.r, accessKey(id), nil, func() (meta.AccessKey, error) { return k.in.AccessKey(ctx, id) })
}

// ForgetKey drops an access key that this instance has taken away.
func (r *Reads) ForgetKey(id string) { r.drop(accessKey(id)) }
