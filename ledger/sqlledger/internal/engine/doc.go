// Package engine runs the transactions of a ledger: in a SQLite file (OpenFile), where one
// writer serves all and the writes that wait share a COMMIT, and in PostgreSQL (OpenServer),
// on pools of connections. It migrates the schema, keeps the ledger's clock from running
// back, and keeps a SQLite file in shape: its lock, write-ahead log, ballast, copies and
// unused pages.
//
// It knows of the ledger's tables only what it keeps itself, migrations and store. What a
// transaction means stands in package sqlledger.
package engine
