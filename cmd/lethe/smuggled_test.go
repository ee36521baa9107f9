package main

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
)

// A request with both a length and chunks is the last of its connection: what
// one reader takes for the rest of the body is never handled as a request.
func TestSecurityLengthBesideChunksSmugglesNoRequest(t *testing.T) {
	w := newWorld(t, "server.admin.listen=127.0.0.1:0").start()
	at := w.app.Addresses()
	for name, url := range map[string]string{"paste": at.Paste, "admin": at.Admin, "metrics": at.Metrics} {
		for _, hidden := range []string{"GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"} {
			host, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
			c, err := net.Dial("tcp", host)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := c.SetDeadline(lethe.SystemClock{}.Now().Add(time.Minute).Time()); err != nil {
				t.Fatal(err)
			}
			_, err = fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n%s", len(hidden)+15, hidden)
			if err != nil {
				t.Fatal(err)
			}
			answers, err := io.ReadAll(c)
			if err != nil && len(answers) == 0 {
				t.Errorf("%s: %v", name, err)
			}
			if n := strings.Count(string(answers), "HTTP/1.1 "); n != 1 {
				t.Errorf("%s: %d answers, want 1:\n%s", name, n, answers)
			}
		}
	}
}
