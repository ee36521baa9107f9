// Package meta is the ledger: the database that says which bytes exist, why,
// and until when. *DB (SQLite now, PostgreSQL under the same text of SQL later)
// offers one exported method per state transition, and one transition is one
// transaction: guarded by the state and the fence that it leaves, with the rows
// affected checked, and nothing remote inside.
//
// The types of the ledger stand in types.go (what is stored) and in requests.go
// (what is asked and answered). The narrow interfaces that consumers need are
// declared by the consumers (object.Ledger, reclaim.Ledger); *DB satisfies all
// of them, and so does memmeta, the complete in-memory ledger of the
// simulation. metatest holds both to one suite.
//
// All times are microseconds of the ledger's clock; all sizes are bytes.
package meta
