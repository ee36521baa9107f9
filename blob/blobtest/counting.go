package blobtest

import (
	"io"
	"sync"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/intercept"
)

// Counts is the work of a Counting store. Calls are counted when they begin, bytes as
// they pass, listed keys when the listing has ended.
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
	*intercept.Store
	*counter
}

// counter is the hook that counts.
type counter struct {
	mu     sync.Mutex
	counts Counts
}

// NewCounting wraps inner.
func NewCounting(inner blob.Store) *Counting {
	c := new(counter)
	return &Counting{intercept.New(inner, c), c}
}

// Counts returns what was counted so far.
func (c *counter) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// Reset sets all counts to zero and returns what they were.
func (c *counter) Reset() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := c.counts
	c.counts = Counts{}
	return counts
}

func (c *counter) count(fn func(*Counts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fn(&c.counts)
}

// Around implements intercept.Hook.
func (c *counter) Around(call *intercept.Call) error {
	c.count(func(n *Counts) { n.begin(call) })
	if call.Op == intercept.Put {
		call.Body = &metered{call.Body, func(k int64) { c.count(func(n *Counts) { n.BytesIn += k }) }}
	}
	err := call.Next()
	if call.Opened != nil {
		body := &metered{call.Opened, func(k int64) { c.count(func(n *Counts) { n.BytesOut += k }) }}
		call.Opened = struct {
			io.Reader
			io.Closer
		}{body, call.Opened}
	}
	c.count(func(n *Counts) { n.end(call, err) })
	return err
}

func (c *Counts) begin(call *intercept.Call) {
	switch call.Op {
	case intercept.Put:
		c.Puts++
	case intercept.Get:
		c.Gets++
	case intercept.Stat:
		c.Stats++
	case intercept.Delete:
		c.Deletes++
		c.DeleteKeys += int64(call.Keys)
	case intercept.List:
		c.Lists++
	}
}

func (c *Counts) end(call *intercept.Call, err error) {
	if call.Op == intercept.List {
		c.ListKeys += int64(call.Keys)
	}
	if err != nil {
		c.Errors++
	}
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
