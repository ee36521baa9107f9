// Package reclaim drives the routines that forget: one loop runs them by their
// timetables and on demand, and records each run. It defines what a Routine is, and what
// more one may be: a Planner, Backlogged, SafeUnpaired. Safety holds all grace periods,
// with what each protects from; Events and Spans report what happens.
//
// The loop runs every routine alike; only Estimate knows some by name. The routines of the engine are in reclaim/routine, the comparison
// of backends with the ledger in reclaim/reconcile, and where copies go in package
// placement. Whether ledger and backends belong together is decided in reclaim/pairing,
// when routines run in reclaim/schedule, and how fast in reclaim/throttle. The files of
// plans are in reclaim/plan, and the transactions in the implementations of package
// ledger.
package reclaim
