// Package sqldb runs hand-written SQL on SQLite, PostgreSQL and MariaDB: one text for all
// (Dialect), connections with their statements (Session), transactions that are
// repeated when another one was faster (Runner), and errors that say what to do
// (MapError). The ledger and adoption both stand on it. It knows no table.
package sqldb
