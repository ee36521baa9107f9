package adopt

import (
	"fmt"
	"regexp"
	"strings"
)

// Template makes a key of columns: "paste:{short_code}".
type Template struct {
	literals []string // one more than columns
	columns  []string
}

var hole = regexp.MustCompile(`\{([^{}]*)\}`)

// ParseTemplate reads a template.
func ParseTemplate(text string) (Template, error) {
	var t Template
	at := 0
	for _, m := range hole.FindAllStringSubmatchIndex(text, -1) {
		name := text[m[2]:m[3]]
		if name == "" {
			return t, fmt.Errorf("the template %q has a hole without a column", text)
		}
		t.literals = append(t.literals, text[at:m[0]])
		t.columns = append(t.columns, name)
		at = m[1]
	}
	t.literals = append(t.literals, text[at:])
	if len(t.columns) == 0 {
		return t, fmt.Errorf("the template %q names no column: write one in braces, such as {id}", text)
	}
	if rest := strings.Join(t.literals, ""); strings.ContainsAny(rest, "{}") {
		return t, fmt.Errorf("the template %q has a brace that is not closed", text)
	}
	return t, nil
}

// Columns returns the columns that it names, in order.
func (t Template) Columns() []string { return t.columns }

// Literals returns the texts around them, one more than Columns.
func (t Template) Literals() []string { return t.literals }

// Fill makes a key; values are those of Columns.
func (t Template) Fill(values []string) string {
	var b strings.Builder
	for i, l := range t.literals {
		b.WriteString(l)
		if i < len(values) {
			b.WriteString(values[i])
		}
	}
	return b.String()
}

// numbered is what statements write parameters as.
var numbered = regexp.MustCompile(`\?\d`)

// checkNumbered reports texts in statements that look like parameters.
func (c Collection) checkNumbered() (wrong problems) {
	at := func(key string, texts ...string) {
		for _, text := range texts {
			if numbered.MatchString(text) {
				wrong.add(key, "%q has a question mark before a digit, which no text of a statement may have", text)
			}
		}
	}
	at("rows", c.Rows.Table, c.Rows.Key, c.Rows.End, c.Rows.Initiated, c.Rows.Content)
	at("rows.objects", c.Rows.Objects...)
	at("cache", c.Cache...)
	if t := c.Contents; t != nil {
		at("contents", t.Table, t.Key, t.Count)
		at("contents.object", t.Object)
	}
	if s := c.Rows.Status; s != nil {
		at("rows.status", s.Column, s.Live, s.Claimed, s.Deleted)
	}
	return wrong
}
