package netlimit

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
)

// fakeListener accepts connections from given addresses.
type fakeListener struct{ from chan string }

func (l fakeListener) Accept() (net.Conn, error) {
	from, ok := <-l.from
	if !ok {
		return nil, net.ErrClosed
	}
	here, there := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, there) }()
	return fakeConn{here, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(from))}, nil
}

func (fakeListener) Close() error   { return nil }
func (fakeListener) Addr() net.Addr { return &net.TCPAddr{} }

type fakeConn struct {
	net.Conn
	from net.Addr
}

func (c fakeConn) RemoteAddr() net.Addr { return c.from }

func TestSecurityAnAddressHasSoManyConnections(t *testing.T) {
	from := make(chan string, 100)
	l := Listen(fakeListener{from}, Options{PerAddress: 2, Exempt: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	accept := func(addresses ...string) (out []net.Conn) {
		for _, a := range addresses {
			from <- a
		}
		from <- "192.0.2.99:1" // so that refusals are visible
		for {
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if c.RemoteAddr().String() == "192.0.2.99:1" {
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
				return out
			}
			out = append(out, c)
		}
	}
	for _, c := range []struct {
		name string
		from []string
		want int
	}{
		{"one address", []string{"192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3", "192.0.2.1:4"}, 2},
		{"it in IPv6's form", []string{"[::ffff:192.0.2.1]:1"}, 0},
		{"another", []string{"192.0.2.2:1", "192.0.2.2:2"}, 2},
		{"one network of IPv6", []string{"[2001:db8::1]:1", "[2001:db8::2]:1", "[2001:db8::ffff:3]:1"}, 2},
		{"another network", []string{"[2001:db8:0:1::1]:1"}, 1},
		{"a proxy", []string{"10.1.1.1:1", "10.1.1.1:2", "10.1.1.1:3"}, 3},
	} {
		if got := accept(c.from...); len(got) != c.want {
			t.Errorf("%s: %d connections, want %d", c.name, len(got), c.want)
		}
	}
}

func TestAConnectionThatIsClosedMakesRoom(t *testing.T) {
	from := make(chan string, 10)
	l := Listen(fakeListener{from}, Options{PerAddress: 1})
	for range 3 {
		from <- "192.0.2.1:1"
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.Close(), c.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if open := l.(*listener).open; len(open) != 0 {
		t.Errorf("%v is counted that is closed", open)
	}
}

func TestPatience(t *testing.T) {
	p := Pace{PerSecond: 100, Window: 10 * time.Second}.Patience()
	p.Waited(4*time.Second, 100)
	if left, ok := p.Left(); !ok || left != 7*time.Second {
		t.Errorf("after 100 bytes in 4 s: %v", left)
	}
	// Fast bytes do not earn unlimited waiting.
	p.Waited(time.Second, 1<<20)
	if left, _ := p.Left(); left != 10*time.Second {
		t.Errorf("after a fast MiB: %v", left)
	}
	for range 5 {
		p.Waited(2*time.Second, 1)
	}
	if left, _ := p.Left(); left > 100*time.Millisecond {
		t.Errorf("after 10 s of one byte per 2 s: %v", left)
	}
	var none Pace
	free := none.Patience()
	free.Waited(time.Hour, 0)
	if _, ok := free.Left(); ok {
		t.Error("a bound where none is asked for")
	}
}

// A body with an occasional byte is cut, and one at the least rate is not.
func TestSecuritySlowBodiesAreCut(t *testing.T) {
	result := make(chan error, 1)
	s := httptest.NewServer(Pace{PerSecond: 1000, Window: 300 * time.Millisecond}.Bodies(http.HandlerFunc(
		func(_ http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(io.Discard, r.Body)
			result <- err
		})))
	defer s.Close()
	send := func(size int, every time.Duration, pieces int) error {
		r, w := io.Pipe()
		go func() {
			tick := time.NewTicker(every)
			defer tick.Stop()
			for range pieces {
				if _, err := w.Write(make([]byte, size)); err != nil {
					return
				}
				<-tick.C
			}
			_ = w.Close()
		}()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, r)
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = int64(size * pieces)
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			err = resp.Body.Close()
		}
		_ = r.CloseWithError(errors.Join(err, io.EOF))
		return <-result
	}
	if err := send(500, 50*time.Millisecond, 20); err != nil {
		t.Errorf("10,000 bytes a second: %v", err)
	}
	at := lethe.Monotonic{}.Now()
	if err := send(1, 50*time.Millisecond, 400); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("20 bytes a second: %v", err)
	}
	if took := (lethe.Monotonic{}).Now().Sub(at); took > 5*time.Second {
		t.Errorf("it was cut after %v", took)
	}
}
