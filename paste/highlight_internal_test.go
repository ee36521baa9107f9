package paste

import (
	"strings"
	"testing"
)

// FuzzColours looks for texts that are changed by their colours, or that a lexer fails at.
func FuzzColours(f *testing.F) {
	for _, l := range languages().Lexers {
		f.Add(l.Config().Name, "a: 'b' <c d=\"e\">\n#!/bin/sh\n```go\nfunc f() {}\n```\n<?php echo <<<X\nX;\n@@ -1 +1 @@\n-a\n")
		f.Add(l.Config().Name, "\"\\\n/* { [ ( <!-- {{ ${ `\r\n\t\x00\u2028é\U0001F30A")
	}
	c := newColours()
	f.Fuzz(func(t *testing.T, kind, text string) {
		given := lines([]byte(text))
		parts := c.of(t.Context(), kind, given)
		if parts == nil {
			return
		}
		for i, line := range parts {
			var whole strings.Builder
			for _, p := range line {
				whole.WriteString(p.text)
			}
			if len(parts) != len(given) || whole.String() != given[i] {
				t.Fatalf("%q as %q has the line %q", text, kind, whole.String())
			}
		}
	})
}

// Every language is in the library, and has colours.
func TestLanguages(t *testing.T) {
	if n := len(languages().Lexers); n != 40 {
		t.Errorf("%d languages", n)
	}
	c := newColours()
	for _, l := range languages().Lexers {
		if _, err := l.Tokenise(nil, "x"); err != nil {
			t.Errorf("%s: %v", l.Config().Name, err)
		}
	}
	for range colouredAtOnce {
		c.turns <- struct{}{}
	}
	if c.of(t.Context(), "go", []string{"package a"}) != nil {
		t.Error("more texts are coloured at once")
	}
}
