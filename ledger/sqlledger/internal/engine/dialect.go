package engine

import "github.com/lethe-storage/lethe/internal/sqldb"

// The ledger's own marks in statements, which the dialect replaces.
const (
	// NextFence is a statement that returns a number higher than all before; LastFence is an
	// expression for the highest.
	NextFence = "{next fence}"
	LastFence = "{last fence}"
	// LastNumber is the number that the last row got which was inserted into a table that
	// numbers its rows.
	LastNumber = "{last number}"
	// SkipEvents begins a statement after which events get higher numbers than at.no. It may
	// leave a row with that number, without a target.
	SkipEvents = "{skip events}"
	// Connections is the most transactions at once.
	Connections = "{connections}"
	// Slot is the number of the row that a transaction uses where several rows share one
	// counter. Transactions on different connections seldom use the same one, so that none
	// waits for the COMMIT of another.
	Slot = "{slot}"
)

var (
	sqliteDialect = sqldb.SQLite(map[string]string{
		NextFence:   "UPDATE store SET fence = fence + 1 WHERE one = 1 RETURNING fence",
		LastFence:   "(SELECT fence FROM store WHERE one = 1)",
		LastNumber:  "last_insert_rowid()",
		SkipEvents:  `INSERT INTO events (no, target, bucket_id, key, at, due_at, body) SELECT at.no, '', '', '', 0, 0, ''`,
		Connections: "1",
		Slot:        "0",
	})
	postgresDialect = sqldb.Postgres(map[string]string{
		NextFence:   "SELECT nextval('fences')",
		LastFence:   "(SELECT last_value FROM fences)",
		LastNumber:  "lastval()",
		SkipEvents:  `SELECT setval(pg_get_serial_sequence('events', 'no'), greatest(at.no, nextval(pg_get_serial_sequence('events', 'no'))))`,
		Connections: "CAST(current_setting('max_connections') AS BIGINT)",
		Slot:        "pg_backend_pid() % 64",
	})
)
