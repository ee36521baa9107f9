package paste_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lethe-storage/lethe/paste"
)

// FuzzSubmission sends bodies of every kind. What is taken comes back: as it
// was sent unless it was a form or JSON, never larger than allowed, never as
// anything that runs; and its page shows it.
func FuzzSubmission(f *testing.F) {
	multi := "--b\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\nhello\r\n--b--\r\n"
	for _, seed := range [][2]string{
		{"", "hello\n"}, {urlencoded, "content=a+b%0A&ttl=1h"}, {urlencoded, "content=a\nb"}, {urlencoded, "a%zz"},
		{"application/json", `{"content":"a\u0000","ttl":"5s","alias":"abc"}`}, {"application/json", `{"content":null}`},
		{"multipart/form-data; boundary=b", multi}, {"multipart/form-data; boundary=b", multi[:40]},
		{"text/html; charset=\"", "<script>alert(1)</script>"}, {"image/png", "\x89PNG\r\n\x1a\n\x00"},
		{"text/plain", "\xef\xbb\xbf\u202e\u2028\r\n\r"}, {"TEXT/PLAIN;;", "</pre></span><!--"},
	} {
		f.Add(seed[0], seed[1])
	}
	const most = 4 << 10
	s := newSite(f, func(o *paste.Options) { o.MaxSize = most })
	f.Fuzz(func(t *testing.T, kind, body string) {
		s.t = t
		w := s.answer("POST", "/", body, "Content-Type", kind, "Accept", "text/plain")
		if w.StatusCode != http.StatusCreated {
			if w.StatusCode < 400 || w.StatusCode >= 500 {
				t.Fatalf("status %d: %s", w.StatusCode, w.body)
			}
			return
		}
		at := strings.TrimSuffix(w.body[strings.LastIndex(w.body, "/"):], "\n")
		got := s.answer("GET", at, "")
		if got.StatusCode != http.StatusOK || len(got.body) == 0 || len(got.body) > most {
			t.Fatalf("%s: status %d, %d bytes", at, got.StatusCode, len(got.body))
		}
		low := strings.ToLower(kind)
		if !strings.Contains(low, "json") && !strings.Contains(low, "form") && got.body != body {
			t.Fatalf("%q came back as %q", body, got.body)
		}
		text := utf8.ValidString(got.body) && !strings.Contains(got.body, "\x00")
		if want := map[bool]string{true: "text/plain; charset=utf-8", false: "application/octet-stream"}[text]; got.Header.Get("Content-Type") != want {
			t.Fatalf("%q is answered as %s", got.body, got.Header.Get("Content-Type"))
		}
		page := s.answer("GET", at, "", "Accept", browser)
		if !text || page.StatusCode != http.StatusOK {
			return
		}
		want := strings.ReplaceAll(strings.TrimSuffix(got.body, "\n")+"\n", "\r\n", "\n")
		if shown := textOf(t, page.body); shown != want {
			t.Fatalf("the page of %q shows %q, want %q", got.body, shown, want)
		}
	})
}

// answer serves a request without a network.
func (s *site) answer(method, path, body string, headers ...string) answer {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.Config.Handler.ServeHTTP(w, r)
	res := w.Result()
	data, err := io.ReadAll(res.Body)
	s.must(err)
	return answer{res, string(data)}
}
