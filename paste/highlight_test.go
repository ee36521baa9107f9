package paste_test

import (
	"net/http"
	"strings"
	"testing"
)

// A text of a known language has its words in colours, by classes alone; what is copied is the
// text, and the raw form is untouched.
func TestTextsHaveColours(t *testing.T) {
	s := newSite(t, nil)
	const program = "// A & B\r\npackage main\n\nfunc main() {\n\tprintln(\"<b>\", 42)\n}\n"
	for name, c := range map[string]struct{ kind, text, has string }{
		"a media type":        {"text/x-go; charset=utf-8", program, `<i class="str">&#34;&lt;b&gt;&#34;</i>`},
		"a name":              {"Go", program, `<i class="num">42</i>`},
		"a beginning":         {"", program, `<i class="com">// A &amp; B</i>`},
		"markdown":            {"text/markdown", "# Title\n\n```go\nfunc f() {}\n```\n", `<i class="hd"># Title</i>`},
		"JSON":                {"", "{\"a\": [1, true]}\n", `<i class="num">1</i>`},
		"YAML":                {"application/yaml", "a: \"b\" # c\n", `<i class="com"># c</i>`},
		"a difference":        {"", "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n", `<i class="ins">+new</i>`},
		"a script":            {"", "#!/bin/sh\nif true; then echo hi; fi\n", `<i class="key">then</i>`},
		"plain":               {"text/plain", program, ""},
		"prose":               {"", "Dear all, if and for and while.\n", ""},
		"an unknown type":     {"text/x-nothing", program, ""},
		"a hostile type":      {"<i class=\"key\">../../etc/passwd", program, ""},
		"text without an end": {"python", "def f(): return 'x", `<i class="key">def</i>`},
		"no words":            {"go", "\n\n\n", ""},
		"a carriage return":   {"go", "package a\rfunc b() {}\n", ""},
	} {
		m := s.paste(c.text, "X-Type", c.kind)
		a := s.wants(s.ask("GET", "/"+m.Code, "", "Accept", browser), http.StatusOK)
		if want := strings.TrimSuffix(strings.ReplaceAll(c.text, "\r\n", "\n"), "\n") + "\n"; textOf(t, a.body) != want {
			t.Errorf("%s: the page shows %q", name, textOf(t, a.body))
		}
		if coloured := strings.Contains(a.body, "<i class="); coloured != (c.has != "") && name != "a carriage return" || !strings.Contains(a.body, c.has) {
			t.Errorf("%s: %s", name, a.body[strings.Index(a.body, "<pre"):])
		}
		if strings.Contains(a.body, "style=") || strings.Contains(a.Header.Get("Content-Security-Policy"), "unsafe") {
			t.Errorf("%s: the page has styles of its own", name)
		}
		s.holds(m.Code, c.text)
	}
}

// Long texts, and texts with long lines, are shown without colours.
func TestLongTextsHaveNoColours(t *testing.T) {
	s := newSite(t, nil)
	const line = "package main // a comment\n"
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"short":     {strings.Repeat(line, 100), true},
		"long":      {strings.Repeat(line, 64<<10/len(line)+1), false},
		"long line": {line + "//" + strings.Repeat("x", 2000) + "\n", false},
	} {
		m := s.paste(c.text, "X-Type", "go")
		a := s.wants(s.ask("GET", "/"+m.Code, "", "Accept", browser), http.StatusOK)
		if strings.Contains(a.body, "<i class=") != c.want || textOf(t, a.body) != c.text {
			t.Errorf("%s: in colours: %v", name, !c.want)
		}
	}
}
