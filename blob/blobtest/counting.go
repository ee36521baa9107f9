package blobtest

import (
	"context"
	"io"
	"sync"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// Counts is the work of a Counting store. Calls are counted when they begin, keys
// and bytes as they pass.
type Counts struct {
	Puts, Gets, Stats, Deletes, Lists int64 // calls
	DeleteKeys                        int64 // keys requested to be deleted
	ListKeys                          int64 // keys listed
	BytesIn, BytesOut                 int64 // bytes read from bodies, and by readers
	Errors                            int64 // calls that returned an error
}

// Calls returns the number of calls of all kinds.
func (c Counts) Calls() int64 { return c.Puts + c.Gets + c.Stats + c.Deletes + c.Lists }

// Counting is a store that counts its calls, keys and bytes.
type Counting struct {
	inner blob.Store

	mu     sync.Mutex
	counts Counts
}

var (
	_ blob.Store      = (*Counting)(nil)
	_ blob.Unfinished = (*Counting)(nil)
	_ blob.Spacer     = (*Counting)(nil)
)

// NewCounting wraps inner.
func NewCounting(inner blob.Store) *Counting { return &Counting{inner: inner} }

// Counts returns what was counted so far.
func (c *Counting) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// Reset sets all counts to zero and returns what they were.
func (c *Counting) Reset() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := c.counts
	c.counts = Counts{}
	return counts
}

func (c *Counting) count(fn func(*Counts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fn(&c.counts)
}

func (c *Counting) failed(err error) {
	if err != nil {
		c.count(func(n *Counts) { n.Errors++ })
	}
}

// Put implements blob.Store.
func (c *Counting) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	c.count(func(n *Counts) { n.Puts++ })
	body := &metered{r: r, add: func(k int64) { c.count(func(n *Counts) { n.BytesIn += k }) }}
	err := c.inner.Put(ctx, key, body, size)
	c.failed(err)
	return err
}

// Get implements blob.Store.
func (c *Counting) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	c.count(func(n *Counts) { n.Gets++ })
	rc, err := c.inner.Get(ctx, key, offset, length)
	c.failed(err)
	if err != nil {
		return nil, err
	}
	body := &metered{r: rc, add: func(k int64) { c.count(func(n *Counts) { n.BytesOut += k }) }}
	return struct {
		io.Reader
		io.Closer
	}{body, rc}, nil
}

type metered struct {
	r   io.Reader
	add func(int64)
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.add(int64(n))
	return n, err
}

// Stat implements blob.Store.
func (c *Counting) Stat(ctx context.Context, key string) (blob.Info, error) {
	c.count(func(n *Counts) { n.Stats++ })
	info, err := c.inner.Stat(ctx, key)
	c.failed(err)
	return info, err
}

// Delete implements blob.Store.
func (c *Counting) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	c.count(func(n *Counts) { n.Deletes++; n.DeleteKeys += int64(len(keys)) })
	results, err := c.inner.Delete(ctx, keys)
	c.failed(err)
	return results, err
}

// List implements blob.Store.
func (c *Counting) List(ctx context.Context, prefix, after string, fn func(blob.Info) error) error {
	c.count(func(n *Counts) { n.Lists++ })
	err := c.inner.List(ctx, prefix, after, func(info blob.Info) error {
		c.count(func(n *Counts) { n.ListKeys++ })
		return fn(info)
	})
	c.failed(err)
	return err
}

// SweepUnfinished implements blob.Unfinished by the underlying store.
func (c *Counting) SweepUnfinished(ctx context.Context, before lethe.Time) (int, int64, error) {
	return sweep(ctx, c.inner, before)
}

// Free implements blob.Spacer by the underlying store.
func (c *Counting) Free(ctx context.Context) (int64, error) { return free(ctx, c.inner) }
