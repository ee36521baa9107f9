package engine

import (
	"slices"

	"github.com/lethe-storage/lethe/internal/sqldb"
)

// statements are all texts that the ledger runs; a test prepares each of them.
var statements []string

// Register adds a statement and returns it. Placeholders are ?1, ?2, ...
func Register(text string) string {
	statements = append(statements, text)
	return text
}

// only holds the statements of a single dialect.
var only = map[string][]string{}

// RegisterFor adds a statement of one dialect.
func RegisterFor(dialect, text string) string {
	only[dialect] = append(only[dialect], text)
	return text
}

// Statements returns what a dialect must understand.
func Statements(d sqldb.Dialect) []string { return append(slices.Clone(statements), only[d.Name]...) }
