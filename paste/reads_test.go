package paste_test

import (
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// once makes a paste that can be read so often.
func (s *site) once(body, reads string, headers ...string) made {
	s.t.Helper()
	m := s.paste(body, append([]string{"X-Reads", reads}, headers...)...)
	a := s.wants(s.ask("HEAD", "/"+m.Code, ""), http.StatusOK)
	s.says(a, "X-Reads-Left", reads)
	return m
}

// TestLinksTakeNoRead: what messengers and crawlers do with a link burns no paste.
func TestLinksTakeNoRead(t *testing.T) {
	s := newSite(t, nil)
	m := s.once("secret", "1")
	for _, path := range []string{"/" + m.Code, "/" + m.Code + "/raw"} {
		for _, accept := range []string{"", "*/*", "application/json", "text/plain", browser} {
			for _, method := range []string{"GET", "HEAD"} {
				a := s.ask(method, path, "", "Accept", accept, "Range", "bytes=0-1", "If-None-Match", `"x"`)
				want := http.StatusMethodNotAllowed
				if method == "HEAD" || accept == browser {
					want = http.StatusOK
				}
				s.wants(a, want)
				s.says(a, "Cache-Control", "no-store")
				s.says(a, "ETag", "")
				s.says(a, "X-Reads-Left", "1")
				if strings.Contains(a.body, "secret") {
					t.Errorf("%s %s with %q gives it away", method, path, accept)
				}
				if want == http.StatusMethodNotAllowed && !strings.Contains(a.body, "curl -X POST "+m.URL) {
					t.Errorf("it does not say how: %q", a.body)
				}
			}
		}
	}
	a := s.wants(s.ask("POST", "/"+m.Code, ""), http.StatusOK)
	s.says(a, "X-Reads-Left", "0")
	s.says(a, "Cache-Control", "no-store")
	s.says(a, "ETag", "")
	if a.body != "secret" {
		t.Errorf("it is %q", a.body)
	}
	for _, method := range []string{"GET", "HEAD", "POST"} {
		s.wants(s.ask(method, "/"+m.Code, ""), http.StatusNotFound)
	}
}

func TestReadsOfAPasteAreCounted(t *testing.T) {
	s := newSite(t, nil)
	for name, m := range map[string]made{
		"header": s.once("three", "3"), "JSON": s.paste(`{"content":"three","reads":3}`, "Content-Type", "application/json"),
		"form": s.paste("content=three&reads=3", "Content-Type", urlencoded),
	} {
		for i, path := range []string{"/" + m.Code, "/" + m.Code + "/raw", "/" + m.Code} {
			a := s.wants(s.ask("POST", path, ""), http.StatusOK)
			s.says(a, "X-Reads-Left", string(rune('2'-i)))
			if a.body != "three" {
				t.Errorf("%s: read %d is %q", name, i+1, a.body)
			}
		}
		s.wants(s.ask("POST", "/"+m.Code, ""), http.StatusNotFound)
	}
	a := s.wants(s.ask("POST", "/?reads=2", "x", "Accept", "application/json"), http.StatusCreated)
	s.says(a, "X-Reads-Left", "2")
	if !strings.Contains(a.body, `"reads_left":2`) {
		t.Errorf("the answer is %q", a.body)
	}
}

// TestBurnAfterReading follows browsers: of who made the paste, whose redirect takes no
// read, and of who got the link.
func TestBurnAfterReading(t *testing.T) {
	s := newSite(t, nil)
	s.browse()
	body, kind := form(t, "content", "for your <eyes>\r\nonly", "reads", "1", "ttl", "", "alias", "", "@file", "")
	a := s.wants(s.ask("POST", "/", body, "Content-Type", kind, "Accept", browser), http.StatusOK)
	at := a.Request.URL.Path
	for _, part := range []string{"can be read once.", `action="` + at + `"`, `action="` + at + `/raw"`, "Yours.", "Delete now"} {
		if !strings.Contains(a.body, part) {
			t.Errorf("the page that asks lacks %q", part)
		}
	}
	if strings.Contains(a.body, "eyes") {
		t.Error("the page that asks gives it away")
	}
	s.browse() // another one
	a = s.wants(s.ask("GET", at, "", "Accept", browser), http.StatusOK)
	if strings.Contains(a.body, "Yours.") {
		t.Error("the token is shown to others")
	}
	a = s.wants(s.ask("POST", at, "", "Accept", browser, "Content-Type", urlencoded), http.StatusOK)
	if got := textOf(t, a.body); got != "for your <eyes>\nonly\n" {
		t.Errorf("the page shows %q", got)
	}
	if !strings.Contains(a.body, "gone now") || strings.Contains(a.body, at+"/raw") || strings.Contains(a.body, "Delete now") {
		t.Errorf("the page offers what is gone: %s", a.body)
	}
	s.wants(s.ask("GET", at, "", "Accept", browser), http.StatusNotFound)
	s.wants(s.ask("POST", at, "", "Accept", browser), http.StatusNotFound)
}

// TestCountedPasteIsSentWhole: a page that showed a part only would take the rest with it.
func TestCountedPasteIsSentWhole(t *testing.T) {
	s := newSite(t, nil)
	for _, body := range []string{strings.Repeat("long ", 100_000), "bytes\x00"} {
		m := s.once(body, "1")
		a := s.wants(s.ask("GET", "/"+m.Code, "", "Accept", browser), http.StatusOK)
		if strings.Contains(a.body, "Show it") || !strings.Contains(a.body, "Download it") {
			t.Errorf("%d bytes: the page that asks offers other than the whole", len(body))
		}
		if a = s.wants(s.ask("POST", "/"+m.Code, "", "Accept", browser), http.StatusOK); a.body != body {
			t.Errorf("%d bytes of %d came", len(a.body), len(body))
		}
	}
}

func TestCountedPasteOfManyReaders(t *testing.T) {
	s := newSite(t, nil)
	m := s.once("secret", "2")
	var wg sync.WaitGroup
	status := make([]int, 8)
	for i := range status {
		wg.Go(func() { status[i] = s.ask("POST", "/"+m.Code, "").StatusCode })
	}
	wg.Wait()
	had := 0
	for _, code := range status {
		if code == http.StatusOK {
			had++
		}
	}
	if had != 2 {
		t.Errorf("%d readers had it: %v", had, status)
	}
}

func TestCountedPasteIsDeletedByItsToken(t *testing.T) {
	s := newSite(t, nil)
	m := s.once("secret", "1")
	s.wants(s.ask("DELETE", "/"+m.Code, "", "X-Delete-Token", m.DeleteToken), http.StatusNoContent)
	s.wants(s.ask("POST", "/"+m.Code, ""), http.StatusNotFound)
}

func TestOtherPastesAreNotReadByPost(t *testing.T) {
	s := newSite(t, nil)
	m := s.paste("hello")
	a := s.wants(s.ask("POST", "/"+m.Code, ""), http.StatusMethodNotAllowed)
	s.says(a, "Allow", "DELETE, GET, HEAD")
	s.says(s.ask("GET", "/"+m.Code, ""), "X-Reads-Left", "")
	if a := s.ask("GET", "/"+m.Code, "", "Accept", browser); !regexp.MustCompile(`kept forever|gone in`).MatchString(a.body) {
		t.Error("the page does not say when it ends")
	}
}
