package paste_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestPartsOfAPaste(t *testing.T) {
	s := newSite(t, nil)
	m := s.paste("0123456789")
	etag := s.ask("GET", "/"+m.Code+"/raw", "").Header.Get("ETag")
	for _, c := range []struct{ header, ifRange, body, says string }{
		{"bytes=0-3", "", "0123", "bytes 0-3/10"}, {"bytes=7-", "", "789", "bytes 7-9/10"}, {"bytes=-2", "", "89", "bytes 8-9/10"},
		{"bytes=5-100", "", "56789", "bytes 5-9/10"}, {"bytes=-100", "", "0123456789", "bytes 0-9/10"},
		{"bytes=0-0", etag, "0", "bytes 0-0/10"}, {"bytes=1-9223372036854775807", "", "123456789", "bytes 1-9/10"},
	} {
		for _, path := range []string{"/" + m.Code, "/" + m.Code + "/raw"} {
			a := s.wants(s.ask("GET", path, "", "Range", c.header, "If-Range", c.ifRange), http.StatusPartialContent)
			s.says(a, "Content-Range", c.says)
			if a.body != c.body {
				t.Errorf("%s: %q", c.header, a.body)
			}
		}
	}
	for _, header := range []string{"bytes=0-1,3-4", "bytes=3-1", "bytes=x-", "lines=1-2", "bytes=", "bytes=+1-2", "bytes= 0-1"} {
		if a := s.wants(s.ask("GET", "/"+m.Code+"/raw", "", "Range", header), http.StatusOK); a.body != "0123456789" {
			t.Errorf("%s: %q", header, a.body)
		}
	}
	if a := s.wants(s.ask("GET", "/"+m.Code+"/raw", "", "Range", "bytes=0-1", "If-Range", `"other"`), http.StatusOK); a.body != "0123456789" {
		t.Errorf("another state: %q", a.body)
	}
	for _, header := range []string{"bytes=10-", "bytes=-0"} {
		a := s.wants(s.ask("GET", "/"+m.Code+"/raw", "", "Range", header), http.StatusRequestedRangeNotSatisfiable)
		s.says(a, "Content-Range", "bytes */10")
	}
	s.says(s.wants(s.ask("HEAD", "/"+m.Code+"/raw", "", "Range", "bytes=0-1"), http.StatusOK), "Accept-Ranges", "bytes")
}

// curl -T sends a file by PUT, under its name if the link ends with a slash.
func TestCurlUploads(t *testing.T) {
	s := newShell(t)
	s.file("notes.txt", "my notes\n")
	for _, link := range []string{s.URL, s.URL + "/", s.URL + "/?ttl=1h"} {
		at := strings.TrimSuffix(s.run("-T", "notes.txt", link), "\n")
		if got := s.run(at); got != "my notes\n" {
			t.Errorf("curl -T to %s printed %q, and the paste is %q", link, at, got)
		}
	}
}

func TestMisspeltParameters(t *testing.T) {
	s := newSite(t, nil)
	a := s.wants(s.ask("POST", "/?tll=1h", "text"), http.StatusBadRequest)
	if !strings.Contains(a.body, `"tll"`) || !strings.Contains(a.body, "ttl, alias, type, reads and idle") {
		t.Errorf("it says %q", a.body)
	}
}
