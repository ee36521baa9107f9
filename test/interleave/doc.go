// Package interleave runs methods of the ledger beside each other on a real
// PostgreSQL, one statement at a time (package stepwise).
//
// After each schedule the answers and all rows have to be what some order of the
// methods, one after the other, makes of them; those states are recounted, and their
// invariants checked. Every pair of methods that share rows meets that way, and
// random triples.
//
// The mutants take locks and second looks away, one at a time: each has to be found,
// or stands with the argument why nobody can see it.
//
// It is all in tests: -interleave.schedules says how many schedules each pair runs.
package interleave
