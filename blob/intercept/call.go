package intercept

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/lethe-storage/lethe/blob"
)

// The operations of a Store, as reports name them.
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

// Report describes one call.
type Report struct {
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

// Call is a call in flight, in the goroutine of its caller.
type Call struct {
	// Report has the operation and its keys from the beginning, and counts keys and
	// bytes as they pass. The rest is set by an Observation.
	Report
	// Ctx is the context of the call behind the hook, which may replace it.
	Ctx context.Context
	// Foreign: it is about what another program keeps on the backend.
	Foreign bool
	// CallerFailed: the body of a Put, or the function of a List, returned an error.
	// The call's error is not the backend's.
	CallerFailed bool
	// Body, of Size bytes, is that of a Put. A hook may wrap it.
	Body io.Reader
	Size int64
	// Opened is the body that a Get opened. A hook may wrap it.
	Opened io.ReadCloser
	// Names are the keys of a Delete, and Results its results, which a hook may
	// change.
	Names   []string
	Results []blob.Result
	// Closed, which a hook may set, is called once when the body that was opened is
	// closed.
	Closed func()

	store *Store
	next  int // index of the next hook
	do    func(*Call) error

	offset, length int64     // of a Get
	info           blob.Info // of a Stat
}

// call begins a call, which do makes behind the hooks.
func (s *Store) call(ctx context.Context, op, key string, do func(*Call) error) *Call {
	c := &Call{Report: Report{Op: op, Key: key}, Ctx: ctx, store: s, do: do}
	if key != "" {
		c.Keys = 1
	}
	return c
}

// Next makes the call behind the hook, and returns its error.
func (c *Call) Next() error {
	if c.next == len(c.store.hooks) {
		return c.do(c)
	}
	h := c.store.hooks[c.next]
	c.next++
	return h.Around(c)
}

// Behind returns the store as the hook sees it: with the hooks that follow.
func (c *Call) Behind() *Store { return New(c.store.inner, c.store.hooks[c.next:]...) }

// open makes a call that opens a body.
func (c *Call) open() (io.ReadCloser, error) {
	err := c.Next()
	switch {
	case err == nil:
		return (*opened)(c), nil
	case c.Opened != nil:
		err = errors.Join(err, (*opened)(c).Close())
	}
	return nil, err
}

// source is the body of a Put.
type source Call

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.Body.Read(p)
	s.Bytes += int64(n)
	s.CallerFailed = s.CallerFailed || err != nil && err != io.EOF
	return n, err
}

// opened is a body that was opened.
type opened Call

// Read implements io.Reader.
func (o *opened) Read(p []byte) (int, error) {
	n, err := o.Opened.Read(p)
	o.Bytes += int64(n)
	if err != nil && err != io.EOF {
		o.failed(err)
	}
	return n, err
}

func (o *opened) failed(err error) {
	if !errors.Is(err, io.EOF) {
		o.Err = err
	}
	for _, h := range o.store.hooks {
		if b, ok := h.(BodyHook); ok {
			b.ReadFailed((*Call)(o), err)
		}
	}
}

// Close implements io.Closer.
func (o *opened) Close() error {
	err := o.Opened.Close()
	if closed := o.Closed; closed != nil {
		o.Closed = nil
		closed()
	}
	return err
}
