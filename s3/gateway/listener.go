package gateway

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/netlimit"
)

// connTracker wraps listeners so that no connection stalls without end, and tracks
// the open ones, so that they can be closed.
type connTracker struct {
	idle time.Duration // longest wait for one read or write
	pace netlimit.Pace // of bodies
	most netlimit.Options
	mu   sync.Mutex
	open map[*trackedConn]struct{}
	// stopping: connections are closed at once.
	stopping atomic.Bool
}

func newConnTracker(o Options) *connTracker {
	return &connTracker{idle: o.IdleTimeout, pace: o.BodyPace, most: netlimit.Options{PerAddress: o.MaxPerAddress, Exempt: o.TrustedProxies}}
}

const (
	// lingerIdle and lingerTotal bound reading from a connection whose response
	// was sent and that is to be closed.
	lingerIdle  = 2 * time.Second
	lingerTotal = 10 * time.Second
)

var lingerBuffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// listen listens on all addresses, or none.
func (t *connTracker) listen(addresses []string, certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)) ([]net.Listener, error) {
	var out []net.Listener
	for _, a := range addresses {
		ln, err := net.Listen("tcp", a)
		if err != nil {
			for _, ln := range out {
				err = errors.Join(err, ln.Close())
			}
			return nil, fmt.Errorf("s3: listen on %s: %w", a, err)
		}
		ln = &trackedListener{netlimit.Listen(ln, t.most), t}
		if certificate != nil {
			ln = tls.NewListener(ln, &tls.Config{
				GetCertificate: certificate, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
			})
		}
		out = append(out, ln)
	}
	return out, nil
}

// closeAll closes open connections; with unused, only those that had no
// request: the web server tracks the idle ones that had one.
func (t *connTracker) closeAll(unused bool) {
	t.stopping.Store(true)
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := range t.open {
		if !unused || !c.used.Load() {
			// The connection is abandoned; a failure to close it changes
			// nothing.
			_ = c.Conn.Close()
		}
	}
}

func (t *connTracker) add(c *trackedConn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[*trackedConn]struct{}{}
	}
	t.open[c] = struct{}{}
}

func (t *connTracker) remove(c *trackedConn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, c)
}

type trackedListener struct {
	net.Listener
	tracker *connTracker
}

func (l *trackedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tracked := &trackedConn{Conn: c, tracker: l.tracker}
	l.tracker.add(tracked)
	return tracked, nil
}

// trackedConn ends a read or write that waits longer than idle. The web
// server's own read deadline, of the whole header for instance, applies as
// well.
type trackedConn struct {
	net.Conn
	tracker *connTracker
	hard    atomic.Int64 // the web server's read deadline in microseconds; 0: none
	used    atomic.Bool  // bytes were read from it

	mu    sync.Mutex
	timed bool              // a body is being read
	body  netlimit.Patience // with it
}

func (c *trackedConn) Read(p []byte) (int, error) {
	now := lethe.SystemClock{}.Now()
	until := now.Add(c.tracker.idle)
	if left, ok := c.waits(0, 0); ok {
		until = min(until, now.Add(left))
	}
	if hard := lethe.Time(c.hard.Load()); hard != 0 {
		until = min(until, hard)
	}
	if err := c.Conn.SetReadDeadline(until.Time()); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	c.waits(lethe.SystemClock{}.Now().Sub(now), n)
	if n > 0 {
		c.used.Store(true)
	}
	return n, err
}

// waits records the time that a read waited for n bytes of a body, and returns
// the limit of the next wait. ok is false between bodies.
func (c *trackedConn) waits(d time.Duration, n int) (left time.Duration, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.timed {
		return 0, false
	}
	c.body.Waited(d, n)
	return c.body.Left()
}

// reads starts or ends the timing of a body: the web server marks the start by
// a deadline as far off as longestBody, and the end by another one.
func (c *trackedConn) reads(until time.Time) {
	timed := !until.IsZero() && lethe.FromTime(until).Sub(lethe.SystemClock{}.Now()) > longestBody/2
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timed = timed; timed {
		c.body = c.tracker.pace.Patience()
	}
}

func (c *trackedConn) Write(p []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(lethe.SystemClock{}.Now().Add(c.tracker.idle).Time()); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// SetReadDeadline takes effect with the next read.
func (c *trackedConn) SetReadDeadline(t time.Time) error {
	c.reads(t)
	if t.IsZero() {
		c.hard.Store(0)
		return nil
	}
	c.hard.Store(int64(lethe.FromTime(t)))
	return c.Conn.SetReadDeadline(t)
}

// SetDeadline sets that for reading; writes have their own.
func (c *trackedConn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetWriteDeadline is left to Write.
func (*trackedConn) SetWriteDeadline(time.Time) error { return nil }

func (c *trackedConn) Close() error {
	c.linger()
	c.tracker.remove(c)
	return c.Conn.Close()
}

// linger closes the connection for writing and discards what the client still
// sends. Closing at once after a refusal would reset the connection, and most
// clients would report that instead of the response.
func (c *trackedConn) linger() {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || !c.used.Load() || c.tracker.stopping.Load() || half.CloseWrite() != nil {
		return
	}
	buf := lingerBuffers.Get().(*[64 << 10]byte)
	defer lingerBuffers.Put(buf)
	clock := lethe.SystemClock{}
	now := clock.Now()
	for end := now.Add(lingerTotal); now < end && !c.tracker.stopping.Load(); now = clock.Now() {
		if c.Conn.SetReadDeadline(min(end, now.Add(lingerIdle)).Time()) != nil {
			return
		}
		if _, err := c.Conn.Read(buf[:]); err != nil {
			return
		}
	}
}
