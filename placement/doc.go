// Package placement decides where bytes lie: which backend takes a write (Router),
// and how many copies of a content there are and where (Replicate, Drain,
// Rebalance, Survey). It replicates to a factor, replaces lost and damaged copies,
// trims surplus ones, empties a backend, and evens out how full the backends are.
// It deletes nothing.
//
// usage.go and decide.go decide, purely; router.go, replicate.go, walks.go and
// stream.go act; drainplan.go, replicateplan.go, replicateapply.go and surveyplan.go make
// and apply plans. The routines are driven by the loop of package reclaim, on several
// instances at once, disjoint by claims. Copies are begun, committed and trimmed by
// the ledger's transitions alone. What a trim condemns is deleted by reclaim's
// clean like everything else (docs/protocol.md, rules 5 and 17).
package placement
