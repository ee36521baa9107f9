// Package sqlledger is the ledger in SQLite (Open) and PostgreSQL (OpenPostgres). *DB has one
// exported method for each state transition of package ledger, beside its statements, in files
// by noun. One method is one transaction: it is guarded by the state and the fence that it
// leaves, and checks the rows affected. Statements are one text for both engines; what differs
// is a value of internal/sqldb.Dialect.
//
// Transactions, migrations, backups and what keeps a SQLite file in shape stand in engine.go,
// writer.go, readers.go, group.go, migrate.go, backup.go, ballast.go, vacuum.go, walog.go and
// postgres*.go.
package sqlledger
