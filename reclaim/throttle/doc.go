// Package throttle decides how fast reclaiming may go. A Controller takes
// measurements (latencies of clients' requests, durations of the engine's
// transactions and deletes) and the operator's delete rates, and returns sizes of
// batches, numbers of parallel batches and rests.
//
// Decisions are pure: level.go, latency.go and load.go change a value by a sample and
// the time at which it was taken. controller.go and rates.go hold the lock, read the
// clock and wait. Deletion limits are not here: see package ledger.
package throttle
