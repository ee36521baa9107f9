package sqlledger

import (
	"slices"

	"github.com/lethe-storage/lethe/internal/sqldb"
)

// The ledger's own marks in statements, which the dialect replaces.
const (
	// nextFenceMark is a statement that returns a number higher than all before; lastFence
	// is an expression for the highest.
	nextFenceMark = "{next fence}"
	lastFence     = "{last fence}"
	// connections is the most transactions at once.
	connections = "{connections}"
)

var (
	sqliteDialect = sqldb.SQLite(map[string]string{
		nextFenceMark: "UPDATE store SET fence = fence + 1 WHERE one = 1 RETURNING fence",
		lastFence:     "(SELECT fence FROM store WHERE one = 1)",
		connections:   "1",
	})
	postgresDialect = sqldb.Postgres(map[string]string{
		nextFenceMark: "SELECT nextval('fences')",
		lastFence:     "(SELECT last_value FROM fences)",
		connections:   "CAST(current_setting('max_connections') AS BIGINT)",
	})
)

// counterSlots is how many rows share one counter where many transactions write at once.
const counterSlots = 16

// statements are all texts that the ledger runs; a test prepares each of them.
var statements []string

// register adds a statement and returns it. Placeholders are ?1, ?2, ...
func register(text string) string {
	statements = append(statements, text)
	return text
}

// only holds the statements of a single dialect.
var only = map[string][]string{}

// registerFor adds a statement of one dialect.
func registerFor(dialect, text string) string {
	only[dialect] = append(only[dialect], text)
	return text
}

// textsOf returns the statements that a dialect must understand.
func textsOf(d sqldb.Dialect) []string { return append(slices.Clone(statements), only[d.Name]...) }
