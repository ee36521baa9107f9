package paste_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/paste"
)

const urlencoded = "application/x-www-form-urlencoded"

// TestCurlBodyLabelledAsFormIsThePaste: curl --data-binary declares every file as a form.
func TestCurlBodyLabelledAsFormIsThePaste(t *testing.T) {
	s := newSite(t, nil)
	for name, c := range map[string]struct{ sent, want string }{
		"text":                  {"hello world\n", "hello world\n"},
		"text with equals":      {"a=b&c=d", "a=b&c=d"},
		"settings file":         {"content=1\nttl=5\n", "content=1\nttl=5\n"},
		"percent signs":         {"content=100%", "content=100%"},
		"broken escape":         {"content=%zz", "content=%zz"},
		"another field":         {"content=a&other=b", "content=a&other=b"},
		"field twice":           {"content=a&content=b", "content=a&content=b"},
		"no content":            {"ttl=1h", "ttl=1h"},
		"binary":                {"content=\x00\x01", "content=\x00\x01"},
		"form":                  {"content=a%26b+c%0Ad", "a&b c\nd"},
		"form typed by hand":    {"content=hello world", "hello world"},
		"form, content last":    {"alias=&ttl=&content=x", "x"},
		"form in UTF-8":         {"content=h%C3%A9", "hé"},
		"form with line breaks": {"content=a%0D%0Ab", "a\r\nb"},
	} {
		t.Run(name, func(t *testing.T) {
			s.holds(s.paste(c.sent, "Content-Type", urlencoded).Code, c.want)
		})
	}
}

func TestFormFieldsAreObeyed(t *testing.T) {
	s := newSite(t, nil)
	m := s.paste("content=hello&ttl=90s&alias=urlform", "Content-Type", urlencoded)
	if m.Code != "urlform" || *m.ExpiresAt != s.clock.Now().Add(90*time.Second).Time().Format(time.RFC3339) {
		t.Errorf("answer is %+v (%s)", m, *m.ExpiresAt)
	}
	s.wants(s.ask("POST", "/", "content=", "Content-Type", urlencoded), http.StatusBadRequest)
}

// form writes a form with parts: names and values; a name with an at sign is a
// file's.
func form(t *testing.T, fields ...string) (body, kind string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(fields); i += 2 {
		name, isFile := strings.CutPrefix(fields[i], "@")
		part, err := w.CreateFormField(name)
		if isFile {
			part, err = w.CreateFormFile(name, "notes.txt")
		}
		if err == nil {
			_, err = part.Write([]byte(fields[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), w.FormDataContentType()
}

func TestFormWithParts(t *testing.T) {
	s := newSite(t, nil)
	for name, c := range map[string]struct {
		fields []string
		want   string
	}{
		"text":                    {[]string{"content", "a\r\nb"}, "a\r\nb"},
		"file as content":         {[]string{"@content", "a\r\nb"}, "a\r\nb"},
		"file, fields after it":   {[]string{"@file", "x\x00y", "ttl", "1h", "type", "go"}, "x\x00y"},
		"as a browser, text":      {[]string{"content", "typed", "ttl", "", "alias", "", "@file", ""}, "typed"},
		"as a browser, with file": {[]string{"content", "", "ttl", "", "alias", "", "@file", "chosen"}, "chosen"},
	} {
		t.Run(name, func(t *testing.T) {
			body, kind := form(t, c.fields...)
			s.holds(s.paste(body, "Content-Type", kind).Code, c.want)
		})
	}
}

func TestFormsWithPartsThatAreRefused(t *testing.T) {
	s := newSite(t, func(o *paste.Options) { o.MaxSize = 1000 })
	whole, kind := form(t, "content", "hello")
	for name, c := range map[string]struct {
		fields []string
		status int
		says   string
	}{
		"two pastes":    {[]string{"content", "a", "@file", "b"}, 400, "more than one"},
		"unknown field": {[]string{"content", "a", "expire", "b"}, 400, `unknown field "expire"`},
		"nothing":       {[]string{"ttl", "1h"}, 400, "empty"},
		"too large":     {[]string{"content", strings.Repeat("a", 1001)}, 413, "1000 bytes are allowed"},
		"long field":    {[]string{"ttl", strings.Repeat("1", 2000)}, 400, "ttl is too long"},
	} {
		t.Run(name, func(t *testing.T) {
			body, kind := form(t, c.fields...)
			a := s.wants(s.ask("POST", "/", body, "Content-Type", kind), c.status)
			if !strings.Contains(a.body, c.says) {
				t.Errorf("the refusal says %q, want %q in it", a.body, c.says)
			}
		})
	}
	s.wants(s.ask("POST", "/", whole, "Content-Type", "multipart/form-data"), http.StatusBadRequest)
	s.wants(s.ask("POST", "/", whole[:len(whole)-8], "Content-Type", kind), http.StatusBadRequest)
	if n := s.disk.Len(); n != 0 {
		t.Errorf("%d blobs were written by requests that were refused", n)
	}
}

func TestPasteInJSON(t *testing.T) {
	s := newSite(t, nil)
	m := s.paste(`{"content":"a\n\u00e9","ttl":"90s","alias":"from-json","type":"text/markdown"}`, "Content-Type", "application/json; charset=utf-8")
	s.holds("from-json", "a\né")
	if *m.ExpiresAt != s.clock.Now().Add(90*time.Second).Time().Format(time.RFC3339) {
		t.Errorf("expires at %s", *m.ExpiresAt)
	}
	for name, body := range map[string]string{
		"no object": `[1]`, "cut": `{"content":"a"`, "unknown": `{"content":"a","exp":1}`, "no content": `{"ttl":"1h"}`,
		"two": `{"content":"a"}{}`, "number": `{"content":1}`, "bad UTF-8": "{\"content\":\"\xff\"}", "empty": `{"content":""}`,
	} {
		t.Run(name, func(t *testing.T) {
			a := s.wants(s.ask("POST", "/", body, "Content-Type", "application/json", "Accept", "application/json"), 400)
			if !strings.HasPrefix(a.body, `{"error":"`) {
				t.Errorf("the refusal is %q, want it in JSON", a.body)
			}
		})
	}
	s.holds(s.paste(`{"a": 1}`, "Content-Type", "text/plain").Code, `{"a": 1}`)
}

func TestSizeLimit(t *testing.T) {
	s := newSite(t, func(o *paste.Options) { o.MaxSize = 1000 })
	most := strings.Repeat("é", 500)
	s.holds(s.paste(most).Code, most)
	s.holds(s.paste("content="+strings.Repeat("%C3%A9", 500), "Content-Type", urlencoded).Code, most)
	s.holds(s.paste(`{"content":"`+strings.Repeat(`\u00e9`, 500)+`"}`, "Content-Type", "application/json").Code, most)
	for kind, body := range map[string]string{
		"text/plain": most + "x", urlencoded: "content=" + most + "x", "application/json": fmt.Sprintf(`{"content":%q}`, most+"x"),
	} {
		a := s.wants(s.ask("POST", "/", body, "Content-Type", kind), http.StatusRequestEntityTooLarge)
		if !strings.Contains(a.body, "1000 bytes are allowed") {
			t.Errorf("%s: the refusal says %q", kind, a.body)
		}
	}
}

func TestBodyThatBreaksOffLeavesNothing(t *testing.T) {
	s := newSite(t, nil)
	a := s.wants(s.ask("POST", "/", "hello"), http.StatusCreated)
	before := s.disk.Len()
	s.cutShort("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nonly this")
	if s.disk.Len() != before {
		t.Error("half a body was stored")
	}
	s.wants(s.ask("GET", a.Header.Get("Location"), ""), http.StatusOK)
}
