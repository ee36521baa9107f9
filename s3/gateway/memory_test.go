package gateway_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The documents of one address are bounded. Beyond the bound they get SlowDown,
// those of others do not, and released memory is reusable.
func TestSecurityDocumentsUnderWayHoldBoundedMemory(t *testing.T) {
	s := newSite(t)
	const mib = 1 << 20
	from := func(address string) *http.Client {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
		transport := &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}
		return &http.Client{Transport: transport, Timeout: 30 * time.Second}
	}
	ask := func(address string, size int) (int, string) {
		r := signed(s.raw(http.MethodPost, "?delete", []byte("<Delete>"+strings.Repeat(" ", size)+"</Delete>")), root, "UNSIGNED-PAYLOAD")
		resp, err := from(address).Do(r)
		s.must(err)
		return resp.StatusCode, resp.Header.Get("Retry-After") + s.read(resp.Body)
	}
	// A budget of 64 MiB for each address, at 5 bytes a byte, fits one of
	// these. The one of 8 MiB is refused instead if the other is read faster:
	// then it is sent again.
	c, refused := holdDocument(s, 8*mib)
	eventually(t, "a refusal beside 8 MiB under way", func() bool {
		select {
		case <-refused:
			s.must(c.Close())
			c, refused = holdDocument(s, 8*mib)
		default:
		}
		status, answer := ask("127.0.0.1", 7*mib)
		return status == http.StatusServiceUnavailable && strings.HasPrefix(answer, "1") && strings.Contains(answer, "<Code>SlowDown</Code>")
	})
	defer func() { _ = c.Close() }()
	if status, answer := ask("127.0.0.1", 1000); status == http.StatusServiceUnavailable {
		t.Errorf("a small one beside it: %d %s", status, answer)
	}
	if status, answer := ask("127.0.0.2", 7*mib); status == http.StatusServiceUnavailable {
		t.Errorf("one of another address: %d %s", status, answer)
	}
	s.must(c.Close())
	eventually(t, "the memory of what was given up", func() bool {
		status, _ := ask("127.0.0.1", 7*mib)
		return status != http.StatusServiceUnavailable
	})
}

// holdDocument sends all but the end of a document of so many bytes. The channel
// is closed when the server answers or closes the connection.
func holdDocument(s *site, size int) (net.Conn, <-chan struct{}) {
	r := signed(s.raw(http.MethodPost, "?delete", nil), root, "UNSIGNED-PAYLOAD")
	c, err := net.Dial("tcp", w.addr)
	s.must(err)
	var head bytes.Buffer
	fmt.Fprintf(&head, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", r.URL.RequestURI(), r.URL.Host, size)
	s.must(r.Header.Write(&head))
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_, _ = c.Read(make([]byte, 1))
	}()
	// The server may refuse before all is sent.
	_, _ = c.Write(append(head.Bytes(), "\r\n"+strings.Repeat(" ", size-1000)...))
	return c, answered
}
