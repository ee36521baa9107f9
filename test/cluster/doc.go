// Package cluster has several real lethe processes at work on one PostgreSQL, one S3
// server and one Redis: one serves, one reclaims, and one does both, through a
// pooler in transaction mode. It breaks what can break: processes are killed and
// stopped for longer than their claims last, the database and Redis are killed
// and started again, Redis is flushed, and the S3 server answers 503, does the
// work and goes silent for longer than lethe waits, and cuts connections.
// Meanwhile clients put, read and delete, and objects expire by the thousand.
//
// At the end all that was acknowledged is there, all that has expired is gone
// with its bytes, the books are exact by a count of their own, no row is claimed,
// no run is without an end, the bucket holds no key that the ledger does not explain, and "lethe check"
// finds nothing.
//
// Some clients write the same few keys at once; their histories have to be
// linearizable.
//
// In a soak each content has two copies on backends of their own, one of which may
// rot at any time, and clients read ranges, copy, compose, hold, and set rules. Rounds
// of work and checks follow each other for as long as one likes.
//
// It is all in tests: "make cluster" runs one round, -cluster.objects says how many
// objects expire; "make soak DURATION=2h" runs rounds.
package cluster
