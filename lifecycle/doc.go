// Package lifecycle is rules that end objects by what they are: their key, tags,
// size and age. Rules are values: this package says what they mean, how they are
// written in XML and JSON, and what is refused. It stores nothing and deletes
// nothing: the ledger stamps objects with it when they are written, and asks it
// again in the transaction that deletes (docs/protocol.md, rule 21).
package lifecycle
