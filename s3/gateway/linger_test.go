package gateway_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
)

// A client that sends a long body without reading still receives the refusal.
func TestRefusalReachesAClientThatKeepsSending(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	const length = 32 << 20
	for header, code := range map[string]string{
		"Authorization: AWS4-HMAC-SHA256 Credential=nobody/20301231/us-east-1/s3/aws4_request,SignedHeaders=host,Signature=00": "<Code>",
		"X-Unsigned: yes": "AccessDenied",
	} {
		c := s.dial(w.addr)
		if err := c.SetDeadline((lethe.SystemClock{}).Now().Time().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		head := "PUT /" + s.bucket + "/k HTTP/1.1\r\nHost: " + w.addr + "\r\n" + header + "\r\nContent-Length: " + itoa(length) + "\r\n\r\n"
		if _, err := io.Copy(c, io.MultiReader(strings.NewReader(head), io.LimitReader(endless{}, length))); err != nil {
			t.Fatalf("%s: send: %v", header, err)
		}
		s.isAnswered(c, http.StatusForbidden, code)
	}
}

// isAnswered reads the response on a connection to its end.
func (s *site) isAnswered(c net.Conn, status int, text string) {
	s.t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	s.must(err)
	body, err := io.ReadAll(resp.Body)
	s.must(err)
	if resp.StatusCode != status || !strings.Contains(string(body), text) {
		s.t.Errorf("%d %s, want %d %s", resp.StatusCode, body, status, text)
	}
}
