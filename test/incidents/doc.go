// Package incidents replays how other systems lost or leaked data: one test for
// each incident, named after it, that takes the real object, reclaim, placement and
// reconcile code through the same sequence of events and then demands that
// everything alive is readable, that the books equal a recount, and that nothing
// dead is left. Each test also takes a naive store of a few lines, built as the
// peer's was, through the sequence and demands that it does lose or leak: a
// scenario in which nothing could go wrong would prove nothing.
//
// Every incident runs on the ledger and the backend in memory and on the SQLite
// ledger with a directory; those that are about a database, a shared cache or an S3
// service run on a real one (test/servers). The clock is set, the faults are
// chosen, nothing sleeps but the S3 backend between its own tries. The package
// holds tests only; the comment of each says what happened.
//
// Not replayed yet: a collection of keys beside an application that uploads in parts
// (Rails #35386, PicPeak #1051), and the backlogs of lifecycle rules of AWS, MinIO and
// Ceph at their real size. What made the latter is replayed (MinIO #19168), and package
// bench shows that the work for an object does not grow with their number.
package incidents
