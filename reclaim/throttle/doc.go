// Package throttle decides how fast reclaiming may go. A Controller takes what its
// callers note (latencies of clients' requests, durations of the engine's transactions
// and deletes, limits set by the operator) and returns sizes of batches, numbers of
// parallel batches and rests.
//
// Decisions are pure: level.go, latency.go and load.go change a value by a sample and
// the time at which it was taken. controller.go and limits.go hold the lock, read the
// clock and wait. Limits on what may be deleted at all are not here: see package ledger.
package throttle
