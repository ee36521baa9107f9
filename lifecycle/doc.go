// Package lifecycle is rules that end objects by their key, tags, size and age. Rules are
// values: here are their meaning, their XML and JSON forms, and the checks that refuse them.
// The package stores and deletes nothing. The ledger applies rules to objects when it writes
// them, and again in the transaction that deletes (docs/protocol.md, rule 21).
package lifecycle
