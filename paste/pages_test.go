package paste_test

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/paste"
)

var (
	preForm = regexp.MustCompile(`(?s)<pre class="text">(.*)</pre>`)
	tagForm = regexp.MustCompile(`<[^>]*>`)
)

// textOf is what a page shows of a paste, as someone who copies it gets it.
func textOf(t testing.TB, page string) string {
	t.Helper()
	m := preForm.FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("the page shows no text: %.500s", page)
	}
	return html.UnescapeString(tagForm.ReplaceAllString(m[1], ""))
}

func TestPageShowsTheText(t *testing.T) {
	s := newSite(t, nil)
	for _, text := range []string{
		"one\n", "one\ntwo\n", "\n", "\n\na\n", "<b>&amp;</b>\n", "tab\tand \"quotes\" 'too' `and these`\n", "{{.}} {{template}}\n", "日本語 😀\n",
	} {
		m := s.paste(text)
		a := s.wants(s.ask("GET", "/"+m.Code, "", "Accept", browser), http.StatusOK)
		if got := textOf(t, a.body); got != text {
			t.Errorf("the page of %q shows %q", text, got)
		}
		if n, want := strings.Count(a.body, `<span id="L`), strings.Count(text, "\n"); n != want {
			t.Errorf("the page of %q has %d lines, want %d", text, n, want)
		}
		s.says(a, "Cache-Control", "no-store")
	}
}

func TestPageShowsTheExpiry(t *testing.T) {
	s := newSite(t, nil)
	for ttl, want := range map[string]string{"90s": "in 1m30s", "45s": "in 45s", "3h10m": "in 3h", "47h": "in 1d23h", "30d": "in 30d", "150m": "in 2h"} {
		m := s.paste("hello", "X-Ttl", ttl, "X-Type", "text/markdown")
		a := s.ask("GET", "/"+m.Code, "", "Accept", browser)
		due, err := time.Parse(time.RFC3339, *m.ExpiresAt)
		s.must(err)
		for _, part := range []string{"gone " + want + ",", due.Format("2 January 2006, 15:04:05 UTC"), "text/markdown", "5 bytes"} {
			if !strings.Contains(a.body, part) {
				t.Errorf("ttl %s: the page lacks %q", ttl, part)
			}
		}
	}
}

func TestPageEscapesWhatClientsSay(t *testing.T) {
	s := newSite(t, nil)
	const said = `"'><img src=x onerror=alert(1)>&amp;%s`
	m := s.paste(said+"\n", "X-Type", said)
	a := s.wants(s.ask("GET", "/"+m.Code, "", "Accept", browser), http.StatusOK)
	if strings.Contains(a.body, "<img") || strings.Count(a.body, html.EscapeString(said)) != 2 {
		t.Errorf("the page of text and type %s is %s", said, a.body)
	}
	body, kind := form(t, "content", "typed", "ttl", said)
	a = s.wants(s.ask("POST", "/", body, "Content-Type", kind, "Accept", browser), http.StatusBadRequest)
	if strings.Contains(a.body, "<img") || !strings.Contains(a.body, "&lt;img") {
		t.Errorf("the page about the time to live %s is %s", said, a.body)
	}
}

func TestPageOfALongTextShowsItsBeginning(t *testing.T) {
	s := newSite(t, nil)
	var b strings.Builder
	for n := 0; b.Len() < 400<<10; n++ {
		fmt.Fprintf(&b, "line %d\n", n)
	}
	for name, text := range map[string]string{"lines": b.String(), "one line": strings.Repeat("日", 150<<10)} {
		m := s.paste(text)
		a := s.wants(s.ask("GET", "/"+m.Code, "", "Accept", browser), http.StatusOK)
		got := textOf(t, a.body)
		if name == "one line" {
			got = strings.TrimSuffix(got, "\n")
		}
		if !strings.HasPrefix(text, got) || len(got) < 255<<10 || len(got) > 256<<10 {
			t.Errorf("%s: the page shows %d bytes that end in %q", name, len(got), got[len(got)-10:])
		}
		if !strings.Contains(a.body, "All of it") {
			t.Errorf("%s: the page does not say that there is more", name)
		}
		s.holds(m.Code, text)
	}
}

// TestFormWithoutScripts follows a browser: form, redirect, page with the token,
// deletion.
func TestFormWithoutScripts(t *testing.T) {
	s := newSite(t, nil)
	s.browse()
	a := s.wants(s.ask("GET", "/", "", "Accept", browser), http.StatusOK)
	for _, part := range []string{`method="post"`, `action="/"`, `enctype="multipart/form-data"`, `name="content"`, `name="ttl"`, `name="alias"`, `name="file"`, `name="reads" value="1"`, "1 MiB"} {
		if !strings.Contains(a.body, part) {
			t.Errorf("the form lacks %s", part)
		}
	}
	body, kind := form(t, "content", "typed\r\nhere\r\n", "ttl", "1h", "alias", "", "@file", "")
	a = s.wants(s.ask("POST", "/", body, "Content-Type", kind, "Accept", browser), http.StatusOK)
	if a.Request.Method != "GET" || textOf(t, a.body) != "typed\nhere\n" {
		t.Fatalf("%s %s shows %q", a.Request.Method, a.Request.URL, textOf(t, a.body))
	}
	token := regexp.MustCompile(`<code class="select">([A-Za-z0-9]{32})</code>`).FindStringSubmatch(a.body)
	if token == nil {
		t.Fatal("the page does not show the token to the browser that made the paste")
	}
	code := a.Request.URL.Path
	s.holds(code[1:], "typed\nhere\n")
	a = s.wants(s.ask("POST", code+"/delete", "token="+token[1], "Content-Type", urlencoded, "Accept", browser), http.StatusOK)
	if c := a.Header.Get("Set-Cookie"); !strings.Contains(c, "Max-Age=0") {
		t.Errorf("the token's cookie stays: %q", c)
	}
	s.wants(s.ask("GET", code, "", "Accept", browser), http.StatusNotFound)
}

func TestFormIsAnsweredByARedirect(t *testing.T) {
	s := newSite(t, func(o *paste.Options) { o.PublicURL = "https://example.org/p/" })
	body, kind := form(t, "content", "typed")
	a := s.wants(s.ask("POST", "/", body, "Content-Type", kind, "Accept", browser), http.StatusSeeOther)
	to := a.Header.Get("Location")
	if !regexp.MustCompile(`^/p/[A-Za-z0-9]{7}$`).MatchString(to) {
		t.Errorf("the redirect goes to %q", to)
	}
	cookie := a.Header.Get("Set-Cookie")
	for _, part := range []string{"Path=" + to + ";", "HttpOnly", "Secure", "SameSite=Strict"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("the token's cookie %q lacks %q", cookie, part)
		}
	}
	if a := s.ask("POST", "/", "raw"); !strings.HasPrefix(a.body, "https://example.org/p/") {
		t.Errorf("the link is %q, not at the public URL", a.body)
	}
}

func TestHelpForCurl(t *testing.T) {
	s := newSite(t, nil)
	a := s.wants(s.ask("GET", "/", ""), http.StatusOK)
	s.says(a, "Content-Type", "text/plain; charset=utf-8")
	for _, part := range []string{"curl --data-binary @notes.txt " + s.URL, "up to 1 MiB, kept 1d", "longest: 30d", s.URL + "/CODE/raw"} {
		if !strings.Contains(a.body, part) {
			t.Errorf("the help lacks %q:\n%s", part, a.body)
		}
	}
}
