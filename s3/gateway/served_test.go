package gateway_test

import (
	"bufio"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/s3"
)

// TestServedLeavesOutTheConnection checks that the time in which a client sends
// or reads bytes is not counted as the server's.
func TestServedLeavesOutTheConnection(t *testing.T) {
	s := newSite(t)
	const idle = 200 * time.Millisecond
	const first = 300 << 10  // more than the server reads before it handles the request
	body := pattern(7 << 20) // more than the system buffers on the way to the client
	c := s.dial(w.addr)
	s.must(c.(*net.TCPConn).SetReadBuffer(64 << 10))
	answers := bufio.NewReader(c)
	answer := func() *http.Response {
		resp, err := http.ReadResponse(answers, nil)
		s.must(err)
		return resp
	}

	s.begin(c, "slow", body[:first], len(body))
	time.Sleep(idle)
	_, err := c.Write(body[first:])
	s.must(err)
	s.must(answer().Body.Close())

	s.must(signed(s.raw(http.MethodGet, "/slow", nil), root, "UNSIGNED-PAYLOAD").Write(c))
	resp := answer()
	time.Sleep(idle)
	if got := s.read(resp.Body); got != string(body) {
		t.Errorf("read %d bytes", len(got))
	}
	for _, operation := range []string{"PutObject", "GetObject"} {
		e := w.eventOf(t, func(e s3.RequestEvent) bool { return e.Bucket == s.bucket && e.Operation == operation })
		if e.Served <= 0 || e.Served > e.Duration-idle/2 {
			t.Errorf("%s took %v, of which %v count as the server's", operation, e.Duration, e.Served)
		}
	}
}
