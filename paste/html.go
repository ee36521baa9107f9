package paste

import (
	"bytes"
	"fmt"
	"html"
	"strconv"
)

// markup is a page that is being written. The pages do not use html/template: it
// calls methods by name, so the linker could drop no method of any package, and the
// program would be a third larger.
type markup struct{ bytes.Buffer }

// add writes trusted HTML, with the escaped values in place of each %s. A %s stands
// in a text, in a quoted attribute, or after the slash of a link.
func (m *markup) add(ours string, values ...string) {
	escaped := make([]any, len(values))
	for i, v := range values {
		escaped[i] = html.EscapeString(v)
	}
	fmt.Fprintf(m, ours, escaped...)
}

// inFrame returns a whole page around what body writes.
func inFrame(title string, body func(*markup)) []byte {
	m := &markup{}
	m.add(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title>
<style>`, title)
	m.WriteString(style) // the policy of pages has its digest
	m.add(`</style>
</head>
<body>
<main>
`)
	body(m)
	m.add(`</main>
</body>
</html>
`)
	return m.Bytes()
}

// messagePage is a title and a text; home is the link to the form.
func messagePage(title, text, home string) []byte {
	return inFrame(title, func(m *markup) {
		m.add(`<h1>%s</h1>
<p>%s</p>
<p><a class="button" href="%s">New paste</a></p>
`, title, text, home)
	})
}

// shown is a paste on its page.
type shown struct {
	Code          string
	URL, Page     string // in full, and within the site
	Size, Type    string
	Expires, Left string // empty: never
	ExpiresISO    string
	Idle          string // how long it is kept after its last read, if that ends it first
	Lines         []string
	Parts         [][]part // of the lines, with their colours; nil: none
	Binary, Cut   bool
	Whole         bool   // all of it is shown
	Reads         string // what is left of them; empty: they are not counted
	ReadsLeft     int64
	Shown         string
	Token         string // known only to the browser that made the paste
}

// pastePage shows a paste; home is the link to the form.
func pastePage(home string, s *shown) []byte {
	return inFrame(s.Code, func(m *markup) {
		s.head(m, home)
		s.yours(m)
		s.content(m)
		s.deletion(m)
	})
}

// yours shows link and token to who made the paste.
func (s *shown) yours(m *markup) {
	if s.Token == "" {
		return
	}
	m.add(`<div class="box warn">
<p><strong>Yours.</strong> This link is all that others need: <code class="select">%s</code></p>
<p>With this token you can delete it before its time; it is shown to this browser only, for an hour: <code class="select">%s</code></p>
</div>
`, s.URL, s.Token)
}

// deletion writes the form that deletes the paste, unless its last read has.
func (s *shown) deletion(m *markup) {
	if s.ReadsLeft < 0 {
		return
	}
	m.add(`<details>
<summary>Link and deletion</summary>
<form class="inline" method="post" action="%s/delete">
<input type="text" name="token" value="%s" placeholder="delete token" aria-label="Delete token" autocomplete="off" spellcheck="false" required>
<button>Delete now</button>
</form>
<p>Link: <code class="select">%s</code></p>
</details>
`, s.Page, s.Token, s.URL)
}

// head writes the description of the paste, and the links.
func (s *shown) head(m *markup, home string) {
	m.add(`<header class="head">
<div>
<h1>%s</h1>
<ul class="facts">
<li>%s</li>
`, s.Code, s.Size)
	if s.Type != "" {
		m.add("<li>%s</li>\n", s.Type)
	}
	if s.Reads != "" {
		m.add("<li>%s</li>\n", s.Reads)
	}
	switch {
	case s.ReadsLeft < 0:
	case s.Expires != "":
		m.add("<li>gone %s, on <time datetime=\"%s\">%s</time>", s.Left, s.ExpiresISO, s.Expires)
		if s.Idle != "" {
			m.add(", unless it is read before (kept %s after a read)", s.Idle)
		}
		m.add("</li>\n")
	case s.Reads == "":
		m.add("<li>kept forever</li>\n")
	}
	m.add("</ul>\n</div>\n<nav class=\"acts\">\n")
	switch {
	case s.Reads != "": // a link takes no read
	case s.Binary:
		m.add(`<a class="button main" href="%s/raw">Download</a>`, s.Page)
	default:
		m.add(`<a class="button" href="%s/raw">Raw</a>
<a class="button" href="%s/raw" download="%s.txt">Download</a>`, s.Page, s.Page, s.Code)
	}
	m.add(`
<a class="button" href="%s">New paste</a>
</nav>
</header>
`, home)
}

// content writes the text, line by line, or a note that there is none.
func (s *shown) content(m *markup) {
	if s.Binary {
		m.add("<div class=\"box\"><p>This is not text, so there is nothing to show here.</p></div>\n")
		return
	}
	m.add(`<pre class="text">`)
	for i := range s.Lines {
		n := strconv.Itoa(i + 1)
		m.add(`<span id="L%s"><a href="#L%s" data-n="%s" aria-label="line %s" tabindex="-1"></a>`, n, n, n, n)
		s.line(m, i)
		m.add("\n</span>")
	}
	m.add("</pre>\n")
	if s.Cut {
		m.add("<p class=\"soft\">Its first %s of %s. <a href=\"%s/raw\">All of it</a></p>\n", s.Shown, s.Size, s.Page)
	}
}

// advice is the data of the help page.
type advice struct {
	Base, Size, Default, Longest string
}

// helpPage is the form, and instructions for a shell; home is where the form is
// sent.
func helpPage(home string, a *advice) []byte {
	return inFrame("Paste", func(m *markup) {
		m.add(`<h1>Paste</h1>
<p class="soft">Text behind a short link, until its time has passed. Up to %s, kept %s unless you say otherwise.</p>
<form method="post" action="%s" enctype="multipart/form-data">
<label for="content">Text</label>
<textarea id="content" name="content" spellcheck="false" autocapitalize="off" autofocus></textarea>
<div class="fields">
<div><label for="ttl">Keep for</label><input type="text" id="ttl" name="ttl" placeholder="%s" autocomplete="off"></div>
<div><label for="idle">Gone if unread for</label><input type="text" id="idle" name="idle" placeholder="not set" autocomplete="off"></div>
<div><label for="alias">Name in the link</label><input type="text" id="alias" name="alias" placeholder="random" pattern="[A-Za-z0-9_\-]{3,64}" title="3 to 64 letters, digits, - or _" autocomplete="off"></div>
<div><label for="file">Or a file</label><input type="file" id="file" name="file"></div>
</div>
<p><label><input type="checkbox" name="reads" value="1"> Burn after reading: it can be read once</label></p>
<button class="main">Make a link</button>
</form>
`, a.Size, a.Default, home, a.Default)
		m.add(`<h2>From a shell</h2>
<pre class="shell">curl --data-binary @notes.txt %s
curl --data-binary @notes.txt '%s?ttl=90s'
curl -F file=@notes.txt -F ttl=1h -F alias=my-notes %s
curl --data-binary @secret.txt '%s?reads=1'
curl --data-binary @notes.txt '%s?idle=7d'</pre>
<p class="soft">Times are written 90s, 15m, 12h, 30d; longest: %s. The answer is the link; its header X-Delete-Token deletes the paste
again. <code>curl %s</code> says more.</p>
`, a.Base, a.Base, a.Base, a.Base, a.Base, a.Longest, a.Base)
	})
}
