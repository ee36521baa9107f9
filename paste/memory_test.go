package paste_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/netlimit"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/paste"
)

// What clients send at once is held to a bound, and what they gave up is given back.
func TestSecurityPastesUnderWayHoldBoundedMemory(t *testing.T) {
	s := newSite(t, func(o *paste.Options) { o.MaxSize, o.Memory = 64<<10, 1 })
	var held []net.Conn
	refused := false
	for range 100 {
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		s.must(err)
		held = append(held, c)
		_, err = fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 65536\r\n\r\n%s", strings.Repeat("a", 65000))
		s.must(err)
		if a := s.ask("POST", "/", strings.Repeat("b", 60<<10)); a.StatusCode == http.StatusServiceUnavailable {
			refused = a.Header.Get("Retry-After") != ""
			break
		}
	}
	if !refused {
		t.Error("100 pastes of 64 KiB are held where there is room for few")
	}
	for _, c := range held {
		s.must(c.Close())
	}
	// The server learns of it on its own time.
	for range 1000 {
		if s.ask("POST", "/", strings.Repeat("b", 60<<10)).StatusCode == http.StatusCreated {
			return
		}
	}
	t.Error("the memory of those that have gone is not given back")
}

// slowly takes a while to put, unless it is stopped.
type slowly struct{ paste.Store }

func (s slowly) Put(ctx context.Context, r object.PutRequest) (object.PutResult, error) {
	takes := time.NewTimer(300 * time.Millisecond)
	defer takes.Stop()
	select {
	case <-ctx.Done():
		return object.PutResult{}, ctx.Err()
	case <-takes.C:
		return s.Store.Put(ctx, r)
	}
}

// A client that closes the half on which all was sent gets its response on the
// other.
func TestHalfClosedConnectionIsServed(t *testing.T) {
	s := newSite(t, func(o *paste.Options) { o.Store = slowly{o.Store} })
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	s.must(err)
	defer c.Close()
	_, err = fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
	s.must(err)
	s.must(c.(*net.TCPConn).CloseWrite())
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	s.must(err)
	s.must(resp.Body.Close())
	if resp.StatusCode != http.StatusCreated {
		t.Errorf("answered %d", resp.StatusCode)
	}
}

// A paste whose bytes come too slowly is cut off, and its client gets the reason.
func TestSecuritySlowPasteIsCut(t *testing.T) {
	s := newSite(t, nil)
	front := httptest.NewServer(netlimit.Pace{PerSecond: 1000, Window: 300 * time.Millisecond}.Bodies(s.Config.Handler))
	defer front.Close()
	c, err := net.Dial("tcp", front.Listener.Addr().String())
	s.must(err)
	defer c.Close()
	_, err = fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
	s.must(err)
	over := make(chan struct{})
	defer close(over)
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for range 900 { // 18 s of what would keep a connection awake
			select {
			case <-over:
				return
			case <-tick.C:
			}
			if _, err := fmt.Fprint(c, "x"); err != nil {
				return
			}
		}
	}()
	begun := lethe.Monotonic{}.Now()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	s.must(err)
	s.must(resp.Body.Close())
	if took := (lethe.Monotonic{}).Now().Sub(begun); resp.StatusCode != http.StatusRequestTimeout || took > 10*time.Second {
		t.Errorf("answered %d after %s", resp.StatusCode, took)
	}
}
