// Package sqlledger is the ledger in SQLite (Open) and PostgreSQL (OpenPostgres). *DB has one
// exported method for each state transition of package ledger, beside its statements, in files
// by noun. One method is one transaction: it is guarded by the state and the fence that it
// leaves, and checks the rows affected. Statements are one text for both engines; what differs
// is a value of internal/sqldb.Dialect.
//
// Transactions, the schema's migrations, the clock and what keeps a SQLite file in shape stand
// in internal/engine. DB holds an engine without embedding it: only what a user of the ledger
// needs of it is a method here (db.go, maintenance.go). Watches name transitions, and so stand
// here (watch.go).
package sqlledger
