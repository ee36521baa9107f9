// Package twoledgers has real lethe processes at work where they must refuse (docs/protocol.md,
// rule 13).
//
// Two are alive at once on one backend, each on a ledger of its own that came from the
// other's: a copy of the file, a backup written back, a copied or restored database, a
// base backup. Clients write, overwrite and delete on both sides, and objects end. Before
// a person decides neither may destroy what the other lists, and both say that they are
// held, why, and what to do; once one was accepted it goes on with its own, and the other
// deletes nothing. A failover, in which the old process was killed, goes on by itself.
//
// A folder that was emptied or replaced proves nothing, and a clock that was set forward,
// the machine's or that of PostgreSQL's, ends nothing.
//
// It is all in tests: "make crash" runs them.
package twoledgers
