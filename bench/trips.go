package bench

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// Trips is a TCP proxy that counts round trips: how often a connection was sent
// something by its client after it had answered.
type Trips struct {
	n        atomic.Int64
	listener net.Listener
	upstream string
}

// CountTrips begins, before an upstream of host:port.
func CountTrips(upstream string) (*Trips, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	t := &Trips{listener: l, upstream: upstream}
	go t.accept()
	return t, nil
}

// Addr is where to connect to.
func (t *Trips) Addr() string { return t.listener.Addr().String() }

// Count is how many there were; 0 of nil.
func (t *Trips) Count() int64 {
	if t == nil {
		return 0
	}
	return t.n.Load()
}

// Close accepts no more connections.
func (t *Trips) Close() error { return t.listener.Close() }

func (t *Trips) accept() {
	for {
		client, err := t.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", t.upstream)
		if err != nil {
			_ = client.Close() // which tells it
			continue
		}
		go t.join(client, server)
	}
}

// join passes on what both say, until one of them ends.
func (t *Trips) join(client, server net.Conn) {
	var answered atomic.Bool
	answered.Store(true)
	var wg sync.WaitGroup
	pass := func(to, from net.Conn, each func()) {
		buf := make([]byte, 64<<10)
		for {
			n, err := from.Read(buf)
			if n > 0 {
				each()
				if _, failed := to.Write(buf[:n]); failed != nil {
					err = errors.Join(err, failed)
				}
			}
			if err != nil {
				return
			}
		}
	}
	end := func(c io.Closer) { _ = c.Close() } // both are done with
	wg.Go(func() {
		defer end(server)
		pass(server, client, func() {
			if answered.Swap(false) {
				t.n.Add(1)
			}
		})
	})
	wg.Go(func() {
		defer end(client)
		pass(client, server, func() { answered.Store(true) })
	})
	wg.Wait()
}
