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
	// these.
	r := signed(s.raw(http.MethodPost, "?delete", nil), root, "UNSIGNED-PAYLOAD")
	c, err := net.Dial("tcp", w.addr)
	s.must(err)
	defer c.Close()
	var head bytes.Buffer
	fmt.Fprintf(&head, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", r.URL.RequestURI(), r.URL.Host, 8*mib)
	s.must(r.Header.Write(&head))
	_, err = c.Write(append(head.Bytes(), "\r\n"+strings.Repeat(" ", 8*mib-1000)...))
	s.must(err)
	eventually(t, "a refusal beside 8 MiB under way", func() bool {
		status, answer := ask("127.0.0.1", 7*mib)
		return status == http.StatusServiceUnavailable && strings.HasPrefix(answer, "1") && strings.Contains(answer, "<Code>SlowDown</Code>")
	})
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
