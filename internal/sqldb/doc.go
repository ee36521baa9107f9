// Package sqldb runs hand-written SQL on SQLite, PostgreSQL and MariaDB. It has one text for
// all of them (Dialect), connections with prepared statements (Session), transactions that
// are retried after a lost race (Runner), and errors with advice for operators (MapError).
// The ledger and adoption both use it. It knows no table: schemas and statements belong to
// its callers.
package sqldb
