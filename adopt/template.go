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
