// Package reclaim drives the routines that forget: one loop runs them by their
// timetables and on demand, and records each run. It defines what a Routine is, and what
// more one may be: a Planner, Backlogged, SafeUnpaired. Safety holds all grace periods,
// with what each protects from; Events and Spans report what happens.
//
// The loop runs every routine alike; only Estimate knows some by name. What else belongs to
// reclaiming:
//
//   - reclaim/routine: the routines that end objects and delete bytes
//   - reclaim/reconcile: the comparison of backends with the ledger
//   - package placement: the routines that copy, heal and move
//   - reclaim/pairing: whether ledger and backends belong together
//   - reclaim/schedule: when routines run; reclaim/throttle: how fast
//   - reclaim/plan: the files of plans; reclaim/predict: what will go
//
// The transactions are in the implementations of package ledger.
package reclaim
