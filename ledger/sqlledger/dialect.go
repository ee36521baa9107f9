package sqlledger

import (
	"slices"

	"github.com/lethe-storage/lethe/internal/sqldb"
)

// Marks of the ledger's own, which the dialect fills in.
const (
	// nextFenceMark is a statement that answers a number higher than all before,
	// lastFence an expression for the highest.
	nextFenceMark = "{next fence}"
	lastFence     = "{last fence}"
	// connections is how many transactions there can be at once.
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

// counterSlots is how many rows share one counter where many write at once.
const counterSlots = 16

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

// textsOf are the texts that a dialect has to understand.
func textsOf(d sqldb.Dialect) []string { return append(slices.Clone(statements), only[d.Name]...) }
