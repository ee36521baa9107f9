package paste

import (
	"context"
	"encoding/json"
	"mime"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

// Bounds of the texts that are shown in colours. Patterns of languages go back and forth in a
// text, so that a hostile one takes long.
const (
	maxHighlighted  = 64 << 10 // bytes of a text
	maxColouredLine = 2000     // bytes of a line
	maxColouring    = 200 * time.Millisecond
	colouredAtOnce  = 2
)

// languages are those that have colours. The library has more; each is a set of patterns that
// strangers' texts are matched with.
var languages = sync.OnceValue(func() *chroma.LexerRegistry {
	r := chroma.NewLexerRegistry()
	for _, name := range []string{
		"Bash", "C", "C#", "C++", "CSS", "Dart", "Diff", "Docker", "Elixir", "Erlang", "Go", "GraphQL", "Haskell", "HCL", "HTML", "INI", "Java",
		"JavaScript", "JSON", "Kotlin", "Lua", "Makefile", "markdown", "Nginx configuration file", "Perl", "PHP", "PowerShell", "Protocol Buffer",
		"Python", "R", "Ruby", "Rust", "Scala", "SQL", "Swift", "TOML", "TypeScript", "XML", "YAML", "Zig",
	} {
		if l := lexers.Get(name); l != nil {
			r.Register(l)
		}
	}
	return r
})

// part is a part of a line, with the class of its colour; empty: none.
type part struct{ class, text string }

// colours gives texts their colours, a few at a time.
type colours struct{ turns chan struct{} }

func newColours() colours { return colours{make(chan struct{}, colouredAtOnce)} }

// of returns the parts of each line of a text of a kind: a media type, the name of a language,
// or empty. It returns nil if the text is to be shown without: it is long, of no known language,
// others are being coloured, or it takes too long.
func (c colours) of(ctx context.Context, kind string, lines []string) [][]part {
	text := strings.Join(lines, "\n")
	if len(text) > maxHighlighted || slices.ContainsFunc(lines, func(l string) bool { return len(l) > maxColouredLine }) {
		return nil
	}
	lexer := lexerOf(kind, text)
	if lexer == nil {
		return nil
	}
	select {
	case c.turns <- struct{}{}:
	default:
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxColouring)
	defer cancel()
	done := make(chan [][]part, 1)
	go func() { // a single pattern may take longer than the request waits
		defer func() { <-c.turns }()
		done <- coloured(ctx, lexer, text, len(lines))
	}()
	select {
	case parts := <-done:
		return parts
	case <-ctx.Done():
		return nil
	}
}

// coloured splits a text into the parts of its lines. It returns nil if they are not the text,
// as a lexer may normalise it.
func coloured(ctx context.Context, lexer chroma.Lexer, text string, lines int) (out [][]part) {
	defer func() {
		if recover() != nil { // that is how lexers fail
			out = nil
		}
	}()
	tokens, err := lexer.Tokenise(&chroma.TokeniseOptions{State: "root"}, text)
	if err != nil {
		return nil
	}
	out = make([][]part, 1, lines)
	for t := tokens(); t != chroma.EOF; t = tokens() {
		value := t.Value[:min(len(t.Value), len(text))] // without the end of line that is added
		if ctx.Err() != nil || !strings.HasPrefix(text, value) {
			return nil
		}
		text = text[len(value):]
		for n, piece := range strings.Split(value, "\n") {
			if n > 0 {
				out = append(out, nil)
			}
			out[len(out)-1] = joined(out[len(out)-1], part{classOf(t.Type), piece})
		}
	}
	if text != "" || len(out) != lines {
		return nil
	}
	return out
}

// joined adds a part to a line, to its last one if the class is the same.
func joined(line []part, p part) []part {
	if n := len(line); n > 0 && line[n-1].class == p.class {
		line[n-1].text += p.text
		return line
	}
	if p.text == "" {
		return line
	}
	return append(line, p)
}

// lexerOf returns the lexer of a kind of text, or of what the text begins like if its kind is
// not known; nil if neither tells.
func lexerOf(kind, text string) chroma.Lexer {
	kind = strings.ToLower(strings.TrimSpace(kind))
	media, _, err := mime.ParseMediaType(kind)
	if err != nil {
		media = kind
	}
	switch group, name, _ := strings.Cut(media, "/"); {
	case media == "":
		return guessed(text)
	case name == "":
		return languages().Get(group)
	case media == "text/plain":
		return nil
	default:
		if found := languages().MatchMimeType(media); found != nil {
			return found
		}
		return languages().Get(strings.TrimPrefix(name, "x-"))
	}
}

// beginnings are what texts of some languages begin with.
var beginnings = []struct {
	form *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`^#!.*\b(ba|z|da|k)?sh\b`), "bash"},
	{regexp.MustCompile(`^#!.*\bpython`), "python"},
	{regexp.MustCompile(`^#!.*\bperl`), "perl"},
	{regexp.MustCompile(`^#!.*\bruby`), "ruby"},
	{regexp.MustCompile(`^#!.*\bnode`), "javascript"},
	{regexp.MustCompile(`^(diff --git |Index: |--- [^\n]+\n\+\+\+ )`), "diff"},
	{regexp.MustCompile(`^(?i)(<!doctype html|<html\b)`), "html"},
	{regexp.MustCompile(`^<\?(xml)\b`), "xml"},
	{regexp.MustCompile(`^<\?php\b`), "php"},
	{regexp.MustCompile(`^(//[^\n]*\n|\n)*package [a-z]\w*\n`), "go"},
}

// guessed returns the lexer of what a text begins like.
func guessed(text string) chroma.Lexer {
	if t := strings.TrimSpace(text); (strings.HasPrefix(t, "{") || strings.HasPrefix(t, "[")) && json.Valid([]byte(t)) {
		return languages().Get("json")
	}
	for _, b := range beginnings {
		if b.form.MatchString(text) {
			return languages().Get(b.name)
		}
	}
	return nil
}

// classOf returns the class of a kind of words, of which pages.css has the colours.
func classOf(t chroma.TokenType) string {
	switch {
	case t == chroma.GenericInserted:
		return "ins"
	case t == chroma.GenericDeleted:
		return "del"
	case t == chroma.GenericHeading, t == chroma.GenericSubheading, t == chroma.GenericStrong:
		return "hd"
	case t.InCategory(chroma.Comment):
		return "com"
	case t.InCategory(chroma.Keyword):
		return "key"
	case t.InSubCategory(chroma.LiteralString):
		return "str"
	case t.InSubCategory(chroma.LiteralNumber), t == chroma.NameConstant:
		return "num"
	case t == chroma.NameFunction, t == chroma.NameClass, t == chroma.NameTag, t == chroma.NameBuiltin, t == chroma.NameDecorator:
		return "nam"
	case t == chroma.NameAttribute, t == chroma.NameProperty, t == chroma.NameVariable:
		return "att"
	}
	return ""
}

// line writes a line of the text, with its colours if it has some.
func (s *shown) line(m *markup, i int) {
	if s.Parts == nil {
		m.add("%s", s.Lines[i])
		return
	}
	for _, p := range s.Parts[i] {
		if p.class == "" {
			m.add("%s", p.text)
		} else {
			m.add(`<i class="%s">%s</i>`, p.class, p.text)
		}
	}
}
