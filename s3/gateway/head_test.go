package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// exchange sends a signed request byte by byte, with only the given header
// lines besides the signature's, and returns the response.
func (s *site) exchange(method, path string, lines ...string) (*http.Response, string) {
	s.t.Helper()
	r := signed(s.raw(method, path, nil), root, "UNSIGNED-PAYLOAD")
	var head strings.Builder
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", method, r.URL.RequestURI(), r.URL.Host)
	s.must(r.Header.Write(&head))
	for _, line := range lines {
		head.WriteString(line + "\r\n")
	}
	c := s.dial(s.addr)
	_, err := io.WriteString(c, head.String()+"\r\n")
	s.must(err)
	resp, err := http.ReadResponse(bufio.NewReader(c), r)
	s.must(err)
	return resp, s.read(resp.Body)
}

// An upload without a length would be an empty object.
func TestUploadNeedsALength(t *testing.T) {
	s := newSite(t)
	resp, body := s.exchange(http.MethodPut, "/k")
	if resp.StatusCode != http.StatusLengthRequired || !strings.Contains(body, "<Code>MissingContentLength</Code>") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	s.missing("k")
	if resp, body := s.exchange(http.MethodPut, "/k", "Content-Length: 0"); resp.StatusCode != http.StatusOK {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if got, _ := s.get("k"); got != "" {
		t.Errorf("read %q", got)
	}
	if resp, body := s.exchange(http.MethodGet, "/k"); resp.StatusCode != http.StatusOK {
		t.Errorf("a request without a body needs no length: %d %s", resp.StatusCode, body)
	}
}

// Every response has its request id, once.
func TestRequestIDIsSentOnce(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	for _, c := range []struct{ method, path string }{
		{http.MethodGet, "/k"}, {http.MethodHead, "/k"}, {http.MethodGet, "/none"}, {http.MethodGet, ""},
		{http.MethodDelete, "/k"}, {http.MethodGet, "?acl="},
	} {
		resp, _ := s.exchange(c.method, c.path)
		for _, name := range []string{"X-Amz-Request-Id", "X-Amz-Id-2"} {
			if got := resp.Header.Values(name); len(got) != 1 || got[0] == "" {
				t.Errorf("%s %s: %s is %q", c.method, c.path, name, got)
			}
		}
	}
}

func TestMalformedMultiDeleteIsRefused(t *testing.T) {
	s := newSite(t)
	for _, body := range []string{"bogus", "<Delete>", "<Delete><Object><Size>many</Size></Object></Delete>"} {
		if status, answer := s.sendSigned(http.MethodPost, "?delete", body); status != 400 || !strings.Contains(answer, "<Code>MalformedXML</Code>") {
			t.Errorf("%q: %d %s", body, status, answer)
		}
	}
}
