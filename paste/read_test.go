package paste_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// cutShort sends the beginning of a request, closes its side, and waits until
// the server has answered.
func (s *site) cutShort(request string) {
	s.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	s.must(err)
	defer c.Close()
	_, err = c.Write([]byte(request))
	s.must(err)
	s.must(c.(*net.TCPConn).CloseWrite())
	_, err = io.Copy(io.Discard, c)
	s.must(err)
}

func TestNothingInAPasteIsRun(t *testing.T) {
	s := newSite(t, nil)
	const evil = "<script>alert(1)</script><svg onload=alert(1)>"
	for _, kind := range []string{"text/html", "image/svg+xml", "application/javascript", "text/plain", "text/html; charset=utf-7"} {
		m := s.paste(evil, "Content-Type", kind)
		for _, a := range []answer{
			s.ask("GET", "/"+m.Code, ""), s.ask("GET", "/"+m.Code+"/raw", "", "Accept", browser), s.ask("HEAD", "/"+m.Code+"/raw", ""),
		} {
			s.wants(a, http.StatusOK)
			s.says(a, "Content-Type", "text/plain; charset=utf-8")
			s.says(a, "X-Content-Type-Options", "nosniff")
			s.says(a, "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
			s.says(a, "Content-Disposition", `inline; filename="`+m.Code+`.txt"`)
			s.says(a, "Cross-Origin-Resource-Policy", "same-origin")
			s.says(a, "Referrer-Policy", "no-referrer")
		}
		page := s.wants(s.ask("GET", "/"+m.Code, "", "Accept", browser), http.StatusOK)
		if strings.Contains(page.body, "<script") || strings.Contains(page.body, "<svg") {
			t.Errorf("sent as %s, the page holds the paste unescaped", kind)
		}
		if policy := page.Header.Get("Content-Security-Policy"); strings.Contains(policy, "script") || !strings.HasPrefix(policy, "default-src 'none';") {
			t.Errorf("the page's policy is %q", policy)
		}
	}
}

func TestBinariesAreAttachments(t *testing.T) {
	s := newSite(t, nil)
	for _, body := range []string{"\x7fELF\x00\x01", "latin-1: \xe9", "GIF89a\x00"} {
		m := s.paste(body, "Content-Type", "text/html")
		for _, path := range []string{"/" + m.Code, "/" + m.Code + "/raw"} {
			a := s.wants(s.ask("GET", path, ""), http.StatusOK)
			s.says(a, "Content-Type", "application/octet-stream")
			s.says(a, "Content-Disposition", `attachment; filename="`+m.Code+`.bin"`)
			if a.body != body {
				t.Errorf("%q came back as %q", body, a.body)
			}
		}
		page := s.wants(s.ask("GET", "/"+m.Code, "", "Accept", browser), http.StatusOK)
		if !strings.Contains(page.body, "not text") {
			t.Errorf("the page of a binary does not say so")
		}
	}
}

func TestHead(t *testing.T) {
	s := newSite(t, nil)
	m := s.paste("hello")
	get, head := s.ask("GET", "/"+m.Code, ""), s.ask("HEAD", "/"+m.Code, "")
	s.wants(head, http.StatusOK)
	for _, name := range []string{"Content-Type", "Content-Length", "ETag", "Last-Modified", "Sunset", "Cache-Control", "Vary"} {
		if get.Header.Get(name) == "" || get.Header.Get(name) != head.Header.Get(name) {
			t.Errorf("%s is %q for GET, %q for HEAD", name, get.Header.Get(name), head.Header.Get(name))
		}
	}
	s.says(head, "Content-Length", "5")
	s.says(head, "Cache-Control", "no-cache")
	s.wants(s.ask("HEAD", "/", ""), http.StatusOK)
	s.wants(s.ask("HEAD", "/nothing", ""), http.StatusNotFound)
}

func TestConditionalGet(t *testing.T) {
	s := newSite(t, nil)
	m := s.paste("hello")
	a := s.ask("GET", "/"+m.Code, "")
	etag, date := a.Header.Get("ETag"), a.Header.Get("Last-Modified")
	if etag != `"5d41402abc4b2a76b9719d911017c592"` {
		t.Errorf("ETag is %s, want the MD5 of the text in quotes", etag)
	}
	for _, method := range []string{"GET", "HEAD"} {
		for _, c := range []struct {
			name, value string
			status      int
		}{
			{"If-None-Match", etag, 304}, {"If-None-Match", "W/" + etag, 304}, {"If-None-Match", `"other"`, 200},
			{"If-Modified-Since", date, 304}, {"If-Modified-Since", "yesterday", 200},
			{"If-Match", etag, 200}, {"If-Match", `"other"`, 412},
		} {
			a := s.wants(s.ask(method, "/"+m.Code+"/raw", "", c.name, c.value), c.status)
			if c.status == 304 && a.Header.Get("ETag") != etag {
				t.Errorf("%s with %s: not modified, but the ETag is %q", method, c.name, a.Header.Get("ETag"))
			}
		}
	}
	s.clock.Advance(24 * time.Hour)
	s.wants(s.ask("GET", "/"+m.Code, "", "If-None-Match", etag), http.StatusNotFound)
}

func TestUnsupportedMethodsAreRefused(t *testing.T) {
	s := newSite(t, nil)
	m := s.paste("hello")
	for _, c := range [][2]string{{"PUT", "/" + m.Code}, {"PATCH", "/" + m.Code}, {"DELETE", "/"}, {"POST", "/" + m.Code + "/raw"}} {
		a := s.wants(s.ask(c[0], c[1], "x"), http.StatusMethodNotAllowed)
		if a.Header.Get("Allow") == "" {
			t.Errorf("%s %s: the answer does not say what is allowed", c[0], c[1])
		}
	}
	a := s.wants(s.ask("GET", "/robots.txt", ""), http.StatusOK)
	if !strings.Contains(a.body, "Disallow: /") {
		t.Errorf("robots.txt is %q", a.body)
	}
}
