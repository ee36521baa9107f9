// Package routine has the routines of the engine: expire, clean, reap, stale multipart
// uploads, lifecycle rules, purge of the trash, receipts, the watchdog over stale claims,
// recount and verify. Each declares the few methods that it needs of the ledger as an
// interface beside it, lists item by item what it would take where it makes plans,
// decides purely and acts separately. Clean alone deletes blobs.
//
// Every method of these interfaces is atomic. A number of rows to read that is not above
// zero is no limit. "Older than" and "for age" include the instant itself. Fences are drawn
// by claims that find something, and grow. ledger/ledgertest is the suite that every ledger
// passes.
//
// What drives routines is in package reclaim, and what Clean asks before it deletes in
// reclaim/pairing. The fair division of batches among buckets is here, as only routines
// that take batches need it.
package routine
