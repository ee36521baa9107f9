// Package adoptinterleave runs the methods of sqladopt beside each other, and beside
// transactions of an application, on a real PostgreSQL, one statement at a time
// (package stepwise).
//
// After each schedule the answers and all rows have to be what some order of the two,
// one after the other, makes of them; those states are checked for what has to hold of
// rows, contents and marks. The mutants take locks and second looks away, of methods and
// of guards: each has to be found, or stands with the argument why nobody can see it.
//
// It is all in tests: -interleave.schedules says how many schedules each pair runs.
package adoptinterleave
