package meta

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// dialect is what differs between the databases that run the same text of SQL.
type dialect struct {
	name string
	// alone: a transaction that writes runs alone, and need not lock what it reads.
	alone bool
	// words replace the marks without parameters.
	words map[string]string
	// ordered follows a SELECT of rows that are about to change, and locks them in
	// an order.
	ordered func(by string) string
	// slots is how many rows share one counter. One, where there is one writer.
	slots int
	// source writes the row source of a JSON array of objects.
	source func(param int, cols []string) string
	// list writes the row source (id) of a JSON array of strings.
	list func(param int) string
	// param writes a placeholder, nil for ?1.
	param func(n string) string
}

var sqliteDialect = dialect{
	name:  "sqlite",
	alone: true,
	slots: 1,
	words: map[string]string{
		nextFenceMark: "UPDATE store SET fence = fence + 1 WHERE one = 1 RETURNING fence",
		lastFence:     "(SELECT fence FROM store WHERE one = 1)",
		connections:   "1",
	},
	ordered: func(string) string { return "" },
	source:  sqliteSource,
	list: func(param int) string {
		return fmt.Sprintf("(SELECT value AS id FROM json_each(?%d)) AS t", param)
	},
}

func sqliteSource(param int, cols []string) string {
	out := make([]string, len(cols))
	for i, c := range cols {
		name, _, _ := strings.Cut(c, " ")
		out[i] = fmt.Sprintf("value ->> '%s' AS %s", name, name)
	}
	return fmt.Sprintf("(SELECT %s FROM json_each(?%d)) AS t", strings.Join(out, ", "), param)
}

// Statements are package-level texts, written before it is known which database
// will run them. These stand in them for what the dialect fills in.
const (
	// locked follows a SELECT of rows that are claimed: those that another holds
	// are passed over. Empty, like the next two, where one who writes is alone.
	locked = "{locked}"
	// shared follows a SELECT of rows that must not change before the transaction
	// ends, exclusive one of rows that are about to change; both wait for those who
	// hold them.
	shared    = "{shared}"
	exclusive = "{exclusive}"
	// nextFenceMark is a statement that answers a number higher than all before,
	// lastFence an expression for the highest.
	nextFenceMark = "{next fence}"
	lastFence     = "{last fence}"
	// connections is how many transactions there can be at once.
	connections = "{connections}"
)

// exclusiveBy is exclusive for several rows, locked in the order of a column that
// never changes (design rule 16).
func exclusiveBy(column string) string { return "{exclusive by " + column + "}" }

// rows is a row source named t of a parameter that is a JSON array of objects. A
// column is a name and, for databases that need it, a type: "key text", "n bigint".
func rows(param int, cols ...string) string {
	return fmt.Sprintf("{rows %d: %s}", param, strings.Join(cols, ", "))
}

// ids is a row source t(id) of a parameter that is a JSON array of strings.
func ids(param int) string { return fmt.Sprintf("{ids %d}", param) }

var (
	marks = regexp.MustCompile(`\{(rows (\d+): ([^}]*)|ids (\d+)|exclusive by ([^}]*)|[a-z ]+)\}`)
	param = regexp.MustCompile(`\?(\d+)`)
)

// expand replaces the marks in a statement.
func (d dialect) expand(text string) string {
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

// number reads digits that a pattern has already matched.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// statements are all texts that the ledger runs; a test prepares each.
var statements []string

// register notes a statement and returns it. Placeholders are ?1, ?2, ...
func register(text string) string {
	statements = append(statements, text)
	return text
}

// only are the statements that one dialect has for itself.
var only = map[string][]string{}

// registerFor notes a statement of one dialect.
func registerFor(dialect, text string) string {
	only[dialect] = append(only[dialect], text)
	return text
}

// all are the texts that the dialect has to understand.
func (d dialect) all() []string { return append(slices.Clone(statements), only[d.name]...) }
