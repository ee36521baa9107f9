// Package ledger is the contract of the ledger: the rows that say which bytes exist, why, and
// until when. Here are the types that are stored (types.go), what is asked and returned (a
// file for each noun; reclaim.go has what the engine claims and settles), the decisions that
// need no database (preconditions, ends, limits, holds, fair scheduling), and the errors. It
// imports the standard library and values of this module only.
//
// One method of a ledger is one state transition, and one transaction: guarded by the state
// and the fence that it leaves, with nothing remote inside. Consumers declare the few methods
// that they need (object.IntentLedger, routine.ExpireLedger and the like). sqlledger implements them
// on SQLite and PostgreSQL, memledger in memory, and ledgertest holds both to one suite. The
// tables are described in schema.md.
//
// All times are microseconds of the ledger's clock. All sizes are bytes.
package ledger
