// Package netlimit bounds what the clients of a listener may take of it: how many
// connections one of them has, and how slowly it may send and take what is sent.
package netlimit

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/forwarded"
)

// Options of a listener.
type Options struct {
	// PerAddress is how many connections one address may have, an IPv6 client by the
	// first 64 bits of it; 0: any number. Those of Exempt, which speak for many, may
	// have any number.
	PerAddress int
	Exempt     []netip.Prefix
	// WriteTimeout is for one write; 0: none.
	WriteTimeout time.Duration
}

// Listen bounds a listener. A connection beyond the bound is closed at once, so that
// those of others are accepted.
func Listen(ln net.Listener, o Options) net.Listener {
	return &listener{Listener: ln, opt: o, open: map[netip.Prefix]int{}}
}

type listener struct {
	net.Listener
	opt Options

	mu   sync.Mutex
	open map[netip.Prefix]int
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		release, ok := l.take(c.RemoteAddr())
		if ok {
			return &conn{Conn: c, release: release, timeout: l.opt.WriteTimeout}, nil
		}
		// It is given up: that it cannot even be closed changes nothing.
		_ = c.Close()
	}
}

// take counts a connection; release counts it off.
func (l *listener) take(from net.Addr) (release func(), ok bool) {
	at, isTCP := from.(*net.TCPAddr)
	if l.opt.PerAddress == 0 || !isTCP || forwarded.Trusts(l.opt.Exempt, at.AddrPort().Addr()) {
		return func() {}, true
	}
	who := forwarded.Group(at.AddrPort().Addr())
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[who] >= l.opt.PerAddress {
		return nil, false
	}
	l.open[who]++
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.open[who]--; l.open[who] == 0 {
			delete(l.open, who)
		}
	}), true
}

type conn struct {
	net.Conn
	release func()
	timeout time.Duration
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	if c.timeout > 0 {
		if err := c.SetWriteDeadline(lethe.SystemClock{}.Now().Add(c.timeout).Time()); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(p)
}

// CloseWrite ends the connection in the direction of the client.
func (c *conn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}

// Close implements net.Conn.
func (c *conn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// Pace is how fast a body has to come: PerSecond bytes, averaged over Window. A Window
// of waiting is every body's to begin with. The zero value asks for nothing.
type Pace struct {
	PerSecond int64
	Window    time.Duration
}

// Patience is how much longer a body may be waited for. It is used by one goroutine at
// a time.
type Patience struct {
	pace Pace
	left time.Duration
}

// Patience begins that of one body.
func (p Pace) Patience() Patience { return Patience{p, p.Window} }

// Left is how long the next read may wait; ok is false if there is no bound.
func (p *Patience) Left() (left time.Duration, ok bool) {
	return max(p.left, 0), p.pace.PerSecond > 0
}

// Waited takes what a read waited for n bytes.
func (p *Patience) Waited(d time.Duration, n int) {
	if p.pace.PerSecond > 0 {
		earned := time.Duration(float64(n) / float64(p.pace.PerSecond) * float64(time.Second))
		p.left = min(p.left-d+earned, p.pace.Window)
	}
}
