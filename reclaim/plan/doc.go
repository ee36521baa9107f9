// Package plan is what a destructive command or routine would do, as a value: the
// items that it would take, each with what it was seen to be; totals; an estimate.
// A plan is written to a file line by line, read back the same way, and never held
// in memory as a whole. The package decides nothing and calls nobody: who makes a
// plan reads by the very conditions under which it acts, and who applies one checks
// each item again in the transaction that acts on it.
package plan
