package sqladopt

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/lethe-storage/lethe/adopt"
)

// Collection is one collection of records in its database: adopt.Records,
// adopt.Contents and adopt.Cached.
type Collection struct {
	scope
	c     adopt.Collection
	grace adopt.Grace
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

// instants are how microseconds since 1970 become a value of a column, in two pieces
// around them, and how its values become microseconds, likewise.
type instants struct{ as, closeAs, micros, closeMicros string }

// precision is that of a type of times.
var precision = regexp.MustCompile(`\(\d+(,\d+)?\)`)

func instantsOf(col column, zone, unit string) (instants, error) {
	const (
		since  = "(TIMESTAMPTZ 'epoch' + CAST("
		micros = " AS BIGINT) * INTERVAL '1 microsecond')"
		// An end before time began has an age as well.
		told      = "CAST(extract(epoch FROM greatest("
		closeTold = ", TIMESTAMPTZ 'epoch')) * 1000000 AS BIGINT)"
	)
	switch kind := precision.ReplaceAllString(col.kind, ""); kind {
	case "timestamp with time zone":
		return instants{since, micros, told, closeTold}, nil
	case "timestamp without time zone", "date":
		if zone == "" {
			return instants{}, fmt.Errorf("column %s is a %s: say in which time zone it is (zone: UTC)", col.name, col.kind)
		}
		in := " AT TIME ZONE " + literal(zone)
		return instants{"CAST(" + since, micros + in + " AS " + kind + ")", told + "CAST(", " AS TIMESTAMP)" + in + closeTold}, nil
	case "bigint", "integer", "numeric", "double precision":
		per, ok := map[string]string{"s": "1000000", "ms": "1000", "us": "1"}[unit]
		if !ok {
			return instants{}, fmt.Errorf("column %s is a number: say its unit (unit: s, ms or us since 1970)", col.name)
		}
		return instants{"(CAST(", " AS BIGINT) / " + per + ")", "CAST(CAST(", " AS NUMERIC) * " + per + " AS BIGINT)"}, nil
	}
	return instants{}, fmt.Errorf("column %s is of type %s, which is no time: it has to be a timestamp, a date, or a number with a unit", col.name, col.kind)
}

// claimWords are those of a claim. The instant of a claim is compared as its column
// keeps it: the same row gets the same one twice only if it is claimed twice within a
// unit of the column, and a watchdog waits for longer than that.
func claimWords(w words, c adopt.Collection, s *shape) error {
	st, col := c.Rows.Status, s.rows[c.Rows.Initiated]
	if col.base == "date" {
		return fmt.Errorf("column %s is a date, which is too coarse for the time of a claim: make it a timestamp", col.name)
	}
	i, err := instantsOf(col, c.Rows.Zone, c.Rows.Unit)
	if err != nil {
		return err
	}
	w["{as initiated}"], w["{close initiated}"] = "CAST("+i.as, i.closeAs+" AS "+col.kind+")"
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
	return nil
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
	end, err := instantsOf(s.rows[c.Rows.End], c.Rows.Zone, c.Rows.Unit)
	if err != nil {
		return nil, err
	}
	w["{as end}"], w["{close end}"], w["{micros}"], w["{close micros}"] = end.as, end.closeAs, end.micros, end.closeMicros
	if c.Rows.Status != nil {
		if err := claimWords(w, c, s); err != nil {
			return nil, err
		}
	}
	for _, text := range c.Cache {
		t, err := adopt.ParseTemplate(text)
		if err != nil {
			return nil, err
		}
		w["{copies}"] += ", " + concatenation(t, "r")
	}
	w["{guarded}"] = w["{rows}"]
	if len(c.Rows.Objects) > 0 {
		return w, ownedWords(w, c)
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
	w["{guarded}"] = w["{contents}"] + ", " + w["{rows}"]
	w["{ckey type}"] = s.contents[c.Contents.Key].kind
	w["{object}"] = concatenation(object, "c")
	w["{count}"], w["{unreferenced}"] = "0", "TRUE"
	if c.Contents.Count != "" {
		w["{count}"] = ident(c.Contents.Count)
		w["{unreferenced}"] = "c." + ident(c.Contents.Count) + " = 0"
	}
	return nil
}
