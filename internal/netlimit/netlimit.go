// Package netlimit bounds the resources of a listener's clients: the
// connections of each address, and how slowly it may send and receive.
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
	// PerAddress is how many connections one address may have, an IPv6 client
	// by the first 64 bits of it; 0 is no limit. Addresses in Exempt, such as
	// proxies, have no limit.
	PerAddress int
	Exempt     []netip.Prefix
	// WriteTimeout is for one write; 0 is none.
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
		// It is abandoned: a failure to close it changes nothing.
		_ = c.Close()
	}
}

// take counts a connection; release undoes that.
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

// CloseWrite closes the connection for writing.
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
