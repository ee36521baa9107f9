// Package pairing decides whether a ledger and its backends belong together
// (docs/protocol.md, rule 13). Epoch objects on the backends reveal a ledger that was
// restored, copied or cloned, and a backend that was restored or swapped. Admit is asked
// before each batch of deletes, Confirmed before each step of a routine.
//
// It deletes no blobs and holds no grace periods: those are in reclaim/routine and
// package reclaim. Whether backends are reachable is decided in blob/intercept
// (Breaker, MountGuard).
package pairing
