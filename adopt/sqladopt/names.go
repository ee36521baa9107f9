package sqladopt

import (
	"fmt"
	"strings"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// Collection is one collection of records in its database: adopt.Records,
// adopt.Contents and adopt.Cached.
type Collection struct {
	name   string
	c      adopt.Collection
	grace  adopt.Grace
	db     *DB
	runner *sqldb.Runner // with the words of the collection
}

var (
	_ adopt.Records  = (*Collection)(nil)
	_ adopt.Contents = (*Collection)(nil)
	_ adopt.Cached   = (*Collection)(nil)
)

// words are what a collection calls things, by the marks that stand for them.
type words map[string]string

// literal quotes a text.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// table quotes a name that may have a schema.
func table(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		parts[i] = ident(p)
	}
	return strings.Join(parts, ".")
}

// instant is how microseconds since 1970 become a value of a column, in two pieces
// around them.
func instant(col column, zone, unit string) (before, after string, err error) {
	const since = "(TIMESTAMPTZ 'epoch' + CAST("
	const micros = " AS BIGINT) * INTERVAL '1 microsecond')"
	switch kind, _, _ := strings.Cut(col.kind, "("); strings.TrimSpace(kind) {
	case "timestamp with time zone":
		return since, micros, nil
	case "timestamp without time zone", "date":
		if zone == "" {
			return "", "", fmt.Errorf("column %s is a %s: say in which time zone it is (zone: UTC)", col.name, col.kind)
		}
		after := micros + " AT TIME ZONE " + literal(zone) + ")"
		if kind == "date" {
			after = micros + " AT TIME ZONE " + literal(zone) + ")::date"
		}
		return "(" + since, after, nil
	case "bigint", "integer", "numeric", "double precision":
		per, ok := map[string]string{"s": "1000000", "ms": "1000", "us": "1"}[unit]
		if !ok {
			return "", "", fmt.Errorf("column %s is a number: say its unit (unit: s, ms or us since 1970)", col.name)
		}
		return "(CAST(", " AS BIGINT) / " + per + ")", nil
	}
	return "", "", fmt.Errorf("column %s is of type %s, which is no time: it has to be a timestamp, a date, or a number with a unit", col.name, col.kind)
}

// concatenation is the expression of a template over the columns of a table.
func concatenation(t adopt.Template, alias string) string {
	var parts []string
	for i, l := range t.Literals() {
		if l != "" {
			parts = append(parts, literal(l))
		}
		if i < len(t.Columns()) {
			parts = append(parts, fmt.Sprintf("CAST(%s.%s AS TEXT)", alias, ident(t.Columns()[i])))
		}
	}
	return strings.Join(parts, " || ")
}

// wordsOf fills in the marks of a collection.
func wordsOf(c adopt.Collection, s *shape) (words, error) {
	w := words{
		"{rows}": table(c.Rows.Table), "{key}": ident(c.Rows.Key), "{key type}": s.rows[c.Rows.Key].kind,
		"{end}": ident(c.Rows.End), "{content}": "NULL", "{copies}": "",
		"{is live}": "TRUE", "{state}": "''",
	}
	var err error
	if w["{as end}"], w["{close end}"], err = instant(s.rows[c.Rows.End], c.Rows.Zone, c.Rows.Unit); err != nil {
		return nil, err
	}
	if st := c.Rows.Status; st != nil {
		if w["{as initiated}"], w["{close initiated}"], err = instant(s.rows[c.Rows.Initiated], c.Rows.Zone, c.Rows.Unit); err != nil {
			return nil, err
		}
		w["{initiated}"] = ident(c.Rows.Initiated)
		column := ident(st.Column)
		w["{live}"] = column + " = " + literal(st.Live)
		w["{is live}"] = "r." + w["{live}"]
		w["{state}"] = "CAST(r." + column + " AS TEXT)"
		w["{claimed}"] = column + " = " + literal(st.Claimed)
		w["{is claimed}"] = "r." + w["{claimed}"]
		w["{deleted}"] = column + " = " + literal(st.Deleted)
		if c.Rows.Content != "" {
			w["{deleted}"] += ", " + ident(c.Rows.Content) + " = NULL"
		}
	}
	for _, text := range c.Cache {
		t, err := adopt.ParseTemplate(text)
		if err != nil {
			return nil, err
		}
		w["{copies}"] += ", " + concatenation(t, "r")
	}
	if c.Contents == nil {
		return w, nil
	}
	return w, contentWords(w, c, s)
}

func contentWords(w words, c adopt.Collection, s *shape) error {
	object, err := adopt.ParseTemplate(c.Contents.Object)
	if err != nil {
		return err
	}
	w["{content}"] = "CAST(r." + ident(c.Rows.Content) + " AS TEXT)"
	w["{content column}"] = ident(c.Rows.Content)
	w["{contents}"], w["{ckey}"] = table(c.Contents.Table), ident(c.Contents.Key)
	w["{contents qualified}"] = s.place
	w["{ckey type}"] = s.contents[c.Contents.Key].kind
	w["{object}"] = concatenation(object, "c")
	w["{count}"], w["{unreferenced}"] = "0", "TRUE"
	if c.Contents.Count != "" {
		w["{count}"] = ident(c.Contents.Count)
		w["{unreferenced}"] = "c." + ident(c.Contents.Count) + " = 0"
	}
	return nil
}
