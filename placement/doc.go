// Package placement decides where bytes lie: which backend takes a write (Router),
// and how many copies of a content there are and where (Replicate, Drain,
// Rebalance, Survey): replicating to a factor, replacing lost and damaged copies, trimming
// what is over, emptying a backend, evening out how full the backends are.
//
// usage.go and decide.go decide, purely; router.go, replicate.go, walks.go and
// stream.go act. The routines are those of the engine: package reclaim's loop
// drives them, several instances at once, disjoint by claims. Copies are begun,
// committed and trimmed by the ledger's transitions alone; what a trim condemns
// is deleted by reclaim's clean like everything else (docs/protocol.md, rules 5 and 17).
package placement
