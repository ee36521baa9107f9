// Package observed is a blob.Store around another one that reports each call as it
// begins and ends, for metrics and traces. It changes no call and no result.
package observed

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// The operations of a Store, as calls name them.
const (
	Put    = "put"
	Get    = "get"
	Stat   = "stat"
	Delete = "delete"
	List   = "list"
	Sweep  = "sweep"
	Free   = "free"
	Copy   = "copy"
)

// Call is one call of a Store, once it ended.
type Call struct {
	Op string
	// Key is the only key of the call; empty if there were several, or none.
	Key  string
	Keys int // given, or listed
	// Bytes were read from the body of a Put, or from that of a Get.
	Bytes int64
	// Took is how long the backend took to respond; for a Get, to open the body.
	Took time.Duration
	// Failed are the keys of a Delete that are not confirmed gone.
	Failed int
	// Err is the call's error, or that of the first key that failed.
	Err error
}

// Watch is called before a call, in its goroutine. It returns the context of the
// call, and a function that is called once when it has ended: for a Get, when its
// body is closed. Both return fast.
type Watch func(ctx context.Context, op string) (context.Context, func(Call))

// Store is a blob.Store that is observed.
type Store struct {
	inner blob.Store
	watch Watch
	clock lethe.Clock
}

var (
	_ blob.Store      = (*Store)(nil)
	_ blob.Unfinished = (*Store)(nil)
	_ blob.Spacer     = (*Store)(nil)
	_ blob.Downer     = (*Store)(nil)
	_ blob.Placed     = (*Store)(nil)
)

// New observes a store. The clock measures its calls, and should never jump.
func New(inner blob.Store, w Watch, clock lethe.Clock) *Store { return &Store{inner, w, clock} }

// call is a call in flight.
type call struct {
	Call
	began lethe.Time
	clock lethe.Clock
	ended func(Call)
}

func (s *Store) begin(ctx context.Context, op, key string) (context.Context, *call) {
	ctx, ended := s.watch(ctx, op)
	c := &call{Call: Call{Op: op, Key: key}, began: s.clock.Now(), clock: s.clock, ended: ended}
	if key != "" {
		c.Keys = 1
	}
	return ctx, c
}

// answered records when the backend responded, and its result.
func (c *call) answered(err error) *call {
	c.Took, c.Err = c.clock.Now().Sub(c.began), err
	return c
}

func (c *call) end() { c.ended(c.Call) }

// Put implements blob.Store.
func (s *Store) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	ctx, c := s.begin(ctx, Put, key)
	err := s.inner.Put(ctx, key, &counting{r, &c.Bytes}, size)
	c.answered(err).end()
	return err
}

// counting counts what is read.
type counting struct {
	io.Reader
	n *int64
}

// Read implements io.Reader.
func (c *counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	*c.n += int64(n)
	return n, err
}

// Get implements blob.Store.
func (s *Store) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	ctx, c := s.begin(ctx, Get, key)
	body, err := s.inner.Get(ctx, key, offset, length)
	c.answered(err)
	if err != nil {
		c.end()
		return nil, err
	}
	return &opened{ReadCloser: body, c: c}, nil
}

// opened is a body whose end ends its call.
type opened struct {
	io.ReadCloser
	c    *call
	done bool
}

// Read implements io.Reader.
func (o *opened) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	o.c.Bytes += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		o.c.Err = err
	}
	return n, err
}

// Close implements io.Closer.
func (o *opened) Close() error {
	err := o.ReadCloser.Close()
	if !o.done {
		o.done = true
		o.c.end()
	}
	return err
}

// Stat implements blob.Store.
func (s *Store) Stat(ctx context.Context, key string) (blob.Info, error) {
	ctx, c := s.begin(ctx, Stat, key)
	info, err := s.inner.Stat(ctx, key)
	c.answered(err).end()
	return info, err
}

// Delete implements blob.Store.
func (s *Store) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	only := ""
	if len(keys) == 1 {
		only = keys[0]
	}
	ctx, c := s.begin(ctx, Delete, only)
	results, err := s.inner.Delete(ctx, keys)
	c.answered(err)
	c.Keys = len(keys)
	c.Failed = len(keys) - len(results)
	for _, r := range results {
		if r.Err != nil && !errors.Is(r.Err, blob.ErrNotExist) {
			c.Failed++
			if c.Err == nil {
				c.Err = r.Err
			}
		}
	}
	c.end()
	return results, err
}

// List implements blob.Store.
func (s *Store) List(ctx context.Context, prefix, after string, fn func(blob.Info) error) error {
	ctx, c := s.begin(ctx, List, "")
	stopped := false
	err := s.inner.List(ctx, prefix, after, func(i blob.Info) error {
		c.Keys++
		err := fn(i)
		stopped = stopped || err != nil
		return err
	})
	c.answered(err)
	if stopped {
		c.Err = nil // the caller's own error, not the backend's
	}
	c.end()
	return err
}

// SweepUnfinished implements blob.Unfinished.
func (s *Store) SweepUnfinished(ctx context.Context, before lethe.Time) (int, int64, error) {
	u, ok := s.inner.(blob.Unfinished)
	if !ok {
		return 0, 0, errors.ErrUnsupported
	}
	ctx, c := s.begin(ctx, Sweep, "")
	n, bytes, err := u.SweepUnfinished(ctx, before)
	c.answered(err).end()
	return n, bytes, err
}

// Free implements blob.Spacer.
func (s *Store) Free(ctx context.Context) (int64, error) {
	sp, ok := s.inner.(blob.Spacer)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	ctx, c := s.begin(ctx, Free, "")
	n, err := sp.Free(ctx)
	c.answered(err).end()
	return n, err
}

// Down implements blob.Downer.
func (s *Store) Down() string {
	if d, ok := s.inner.(blob.Downer); ok {
		return d.Down()
	}
	return ""
}

// InPlace implements blob.Placed: a backend without the ability is always in its
// place.
func (s *Store) InPlace() error {
	if p, ok := s.inner.(blob.Placed); ok {
		return p.InPlace()
	}
	return nil
}

// Reopen implements blob.Placed.
func (s *Store) Reopen() error {
	if p, ok := s.inner.(blob.Placed); ok {
		return p.Reopen()
	}
	return errors.ErrUnsupported
}
