package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/safetext"
)

// Keys, metadata, names and errors of services are untrusted text. All output
// of commands passes through this file, so that no byte moves the cursor,
// changes the direction of writing, or imitates another line.

// shown returns a text that is safe on a terminal: unchanged, or quoted as in
// Go if a rune is not printable.
func shown(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !safetext.Plain(r) }) < 0 {
		return s
	}
	return quoted(s)
}

// quoted returns s in quotes, with escapes for what is not printable.
func quoted(s string) string {
	q := strconv.Quote(s)
	return safetext.Escape(q, safetext.Plain, safetext.JSON)
}

// cell returns a text for a table, where two spaces would look like another
// column.
func cell(s string) string {
	if strings.Contains(s, "  ") || strings.TrimSpace(s) != s {
		return quoted(s)
	}
	return shown(s)
}

// text is an argument of printf.
type text string

// Format writes the text in its safe form.
func (t text) Format(f fmt.State, verb rune) {
	if verb == 'q' {
		_, _ = io.WriteString(f, quoted(string(t)))
		return
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), shown(string(t)))
}

// printf formats text whose arguments are untrusted.
func printf(w io.Writer, format string, args ...any) (int, error) {
	safe := make([]any, len(args))
	for i, a := range args {
		safe[i] = argument(a)
	}
	return fmt.Fprintf(w, format, safe...)
}

// argument returns numbers unchanged, and all else as text.
func argument(a any) any {
	switch v := a.(type) {
	case string:
		return text(v)
	case error, fmt.Stringer:
		return text(fmt.Sprint(v))
	}
	switch reflect.ValueOf(a).Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return a
	}
	return text(fmt.Sprint(a))
}

// printError writes the error of a failed command. Errors of the configuration
// have several lines, and those of databases indent some by a tab; those of the
// admin API, which contain untrusted names, have one.
func printError(w io.Writer, text string, err error) {
	lines := !errors.As(err, new(*api.Error))
	if lines {
		text = strings.ReplaceAll(text, "\n\t", "\n  ")
	}
	ok := func(r rune) bool { return safetext.Plain(r) || lines && r == '\n' }
	fmt.Fprintln(w, "lethe:", safetext.Escape(text, ok, safetext.JSON))
}

// xmlEscape returns the escape of a rune in XML.
func xmlEscape(r rune) string { return fmt.Sprintf("&#x%x;", r) }

// inDocument reports whether a rune may be in a document of several lines.
func inDocument(r rune) bool { return safetext.Plain(r) || r == '\n' || r == '\r' || r == '\t' }

// printJSON writes v as one indented document.
func printJSON(w io.Writer, v any) error { return encode(w, v, "  ") }

// printLine writes v as JSON on one line.
func printLine(w io.Writer, v any) error { return encode(w, v, "") }

// encode writes JSON with escapes for what is not printable, which only occurs
// in strings: it stays the same JSON.
func encode(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, safetext.Escape(b.String(), inDocument, safetext.JSON))
	return err
}

// exact returns standard output for data that has to be exact. On a terminal it
// escapes what is not printable.
func (c *cli) exact() io.Writer {
	if isTerminal(c.out) {
		return &escaping{w: c.out}
	}
	return c.out
}

// escaping is a writer to a terminal. A rune may come in two writes.
type escaping struct {
	w    io.Writer
	rest []byte
}

// Write writes all complete runes.
func (e *escaping) Write(p []byte) (int, error) {
	all := append(e.rest, p...)
	end := len(all)
	for i := max(0, len(all)-utf8.UTFMax+1); i < len(all); i++ {
		if utf8.RuneStart(all[i]) && !utf8.FullRune(all[i:]) {
			end = i
			break
		}
	}
	e.rest = append([]byte(nil), all[end:]...)
	if _, err := io.WriteString(e.w, safetext.Escape(string(all[:end]), inDocument, safetext.JSON)); err != nil {
		return 0, err
	}
	return len(p), nil
}
