// Package reclaim is the reclamation engine: expire, clean, reap, stale multipart
// uploads, purge of the trash, the watchdog over stale claims, verify. Each routine
// declares the few ledger methods that it needs, decides purely and acts
// separately. One loop drives them all.
//
// Clean alone deletes blobs. Safety holds all grace periods, with what each
// protects from. The transactions live in package ledger and its implementations,
// where copies go in package placement, how fast routines run in reclaim/throttle
// and when in reclaim/schedule.
package reclaim
