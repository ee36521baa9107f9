package sqldb

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Dialect is what differs between databases that run the same SQL texts.
type Dialect struct {
	Name string
	// Alone: a writing transaction runs alone, and need not lock what it reads.
	Alone bool
	// Own reports whether a table is Lethe's. Nil: all are.
	Own func(table string) bool
	// words replaces the marks without parameters.
	words map[string]string
	// ordered returns the clause after a SELECT of rows about to change, which locks them in
	// the order of a column.
	ordered func(by string) string
	// source returns the row source of a JSON array of objects.
	source func(param int, cols []string) string
	// list returns the row source (id) of a JSON array of strings.
	list func(param int) string
	// in is what In stands for; $1 is the number of the parameter. Empty: a subquery.
	in string
	// param returns a placeholder; nil: ?1.
	param func(n string) string
	// Instead replaces whole texts that this database does not support, whatever its words.
	Instead map[string]string
	// wire implements what database/sql lacks for its connections.
	wire wire
	// undo is the statement that rolls a transaction back (empty: ROLLBACK).
	undo string
	// prepare changes a text before its marks are replaced; bind changes text and parameters
	// of a statement after that. Nil: no change.
	prepare func(text string) string
	bind    func(text string, args []any) (string, []any, error)
	// texts caches expanded texts.
	texts *sync.Map
}

// Names of dialects.
const (
	SQLiteName   = "sqlite"
	PostgresName = "postgres"
)

// SQLite returns the dialect of SQLite. words has the caller's own marks, such as "{last
// fence}", with their replacements.
func SQLite(words map[string]string) Dialect {
	return Dialect{
		Name:    SQLiteName,
		Alone:   true,
		words:   words,
		ordered: func(string) string { return "" },
		source:  sqliteSource,
		list: func(param int) string {
			return fmt.Sprintf("(SELECT value AS id FROM json_each(?%d)) AS t", param)
		},
		wire:  sqlWire{},
		texts: new(sync.Map),
	}
}

func sqliteSource(param int, cols []string) string {
	out := make([]string, len(cols))
	for i, c := range cols {
		name, _, _ := strings.Cut(c, " ")
		out[i] = fmt.Sprintf("value ->> '%s' AS %s", name, name)
	}
	return fmt.Sprintf("(SELECT %s FROM json_each(?%d)) AS t", strings.Join(out, ", "), param)
}

// Postgres returns the dialect of PostgreSQL. It relies on READ COMMITTED: a statement that
// waited for a row sees the row as it is then. Rows to be deleted or changed are locked FOR
// NO KEY UPDATE, which lets foreign key checks pass.
func Postgres(words map[string]string) Dialect {
	all := map[string]string{
		Locked:    "FOR UPDATE SKIP LOCKED",
		Shared:    "FOR SHARE",
		Exclusive: "FOR NO KEY UPDATE",
	}
	maps.Copy(all, words)
	return Dialect{
		Name:    PostgresName,
		words:   all,
		ordered: func(by string) string { return "ORDER BY " + by + " FOR NO KEY UPDATE" },
		source: func(param int, cols []string) string {
			return fmt.Sprintf("jsonb_to_recordset(CAST(nullif(CAST(?%d AS TEXT), 'null') AS JSONB)) AS t(%s)", param, strings.Join(cols, ", "))
		},
		list: func(param int) string {
			return fmt.Sprintf("jsonb_array_elements_text(CAST(nullif(CAST(?%d AS TEXT), 'null') AS JSONB)) AS t(id)", param)
		},
		in:    "= ANY (ARRAY(SELECT id FROM {ids $1}))",
		param: func(n string) string { return "$" + n },
		wire:  pgWire{},
		texts: new(sync.Map),
	}
}

// Marks in statements, which the dialect replaces.
const (
	// Locked follows a SELECT of rows to claim and skips rows locked by others. It is empty,
	// like the next two, where a writer runs alone.
	Locked = "{locked}"
	// Shared follows a SELECT of rows that must not change before the transaction ends,
	// Exclusive one of rows about to change. Both wait for locks of others.
	Shared    = "{shared}"
	Exclusive = "{exclusive}"
)

// ExclusiveBy is Exclusive for several rows, locked in the order of a column that never
// changes, so that two transactions do not deadlock.
func ExclusiveBy(column string) string { return "{exclusive by " + column + "}" }

// Rows is the row source t of a parameter that is a JSON array of objects. A column is a
// name and, for databases that need it, a type: "key text", "n bigint".
func Rows(param int, cols ...string) string {
	return fmt.Sprintf("{rows %d: %s}", param, strings.Join(cols, ", "))
}

// IDs is the row source t(id) of a parameter that is a JSON array of strings.
func IDs(param int) string { return fmt.Sprintf("{ids %d}", param) }

// In follows a column that has to have one of the strings of such a parameter. PostgreSQL makes
// an array of them and looks each up by the column's index: while a table is small, or its
// statistics are from when it was, a join reads all of it.
func In(param int) string { return fmt.Sprintf("{in %d}", param) }

var (
	marks = regexp.MustCompile(`\{(rows (\d+): ([^}]*)|ids (\d+)|exclusive by ([^}]*)|[a-z ]+)\}`)
	ins   = regexp.MustCompile(`\{in (\d+)\}`)
	param = regexp.MustCompile(`\?(\d+)`)
)

// Expand replaces the placeholders in a statement.
func (d Dialect) Expand(text string) string {
	if other, ok := d.Instead[text]; ok {
		text = other
	}
	text = ins.ReplaceAllString(text, cmp.Or(d.in, "IN (SELECT id FROM {ids $1})"))
	if d.prepare != nil {
		text = d.prepare(text)
	}
	text = marks.ReplaceAllStringFunc(text, func(mark string) string {
		m := marks.FindStringSubmatch(mark)
		switch {
		case m[2] != "":
			return d.source(number(m[2]), strings.Split(m[3], ", "))
		case m[4] != "":
			return d.list(number(m[4]))
		case m[5] != "":
			return d.ordered(m[5])
		}
		return d.words[mark]
	})
	if d.param != nil {
		text = param.ReplaceAllStringFunc(text, func(p string) string { return d.param(p[1:]) })
	}
	return text
}

// text is Expand with a cache.
func (d Dialect) text(text string) string {
	if have, ok := d.texts.Load(text); ok {
		return have.(string)
	}
	out := d.Expand(text)
	d.texts.Store(text, out)
	return out
}

// number converts digits that a pattern has already matched.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
