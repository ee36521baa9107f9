// Package sim runs the real object and reclaim code over a simulated backend,
// clock and crash, deterministically: every call on ledger or backend is an
// effect at which the actor that makes it waits, exactly one actor runs at a
// time, and a seed decides who goes on, which fault its effect meets, and how far
// the clock moves. The invariants are checked after every effect that changed
// something; at the end, with faults stopped, everything that is due must be
// gone and nothing unexplained be left.
//
// A run is a pure function of its Config: run twice it gives the same trace hash.
// Shrink reduces a failing run to the faults and operations that matter, and never
// takes another failure for it: Result.Violation names what is broken.
//
// actor.go has the coroutines, world.go the schedule, faults.go what may go
// wrong where, ledger.go and disk.go the seams, clients.go and workers.go the
// actors, oracle.go the invariants, finding.go their names, ending.go the quiet end.
package sim
