// Package reclaim is the engine that forgets: expire, clean, reap, stale
// multipart uploads, purge of the trash, the watchdog over stale claims, verify.
// Each routine declares the few ledger methods that it needs, decides purely and
// acts separately, and is driven by one loop. Physical deletes are issued by
// clean alone. All grace periods stand in Safety, with what each protects from.
package reclaim
