// Package adopt reclaims in tables, buckets and caches that belong to other
// programs. A file describes them (Description). The application does not
// change and does not know of Lethe. A file has collections of three kinds:
// records, folders that live as long as a row does (Folders), and single objects
// that live as long as a row names them (Keys).
//
// A collection of records is rows that expire, the contents that they refer to,
// and copies in a cache. Rows go from live to claimed to gone: claimed and
// stamped in one transaction, their copies dropped from the cache, then settled
// in another (Expire). Contents without a referring row go from waiting to
// condemned to gone: marked in one transaction, their objects deleted, then
// confirmed in another (Clean). No lock is held during a call to bucket or
// cache.
//
// The application chooses the names of objects and may reuse them. The mark of
// a condemned content refuses new references until its object is gone and no
// delete can be in flight any more. A guard in the application's database
// enforces it (docs/adopting.md). Without a guard objects are counted, and
// stay.
//
// The database side (Records, Contents, Cached) is package sqladopt, and
// memadopt in memory. Buckets are blob.Store. The loop of package reclaim runs
// the routines.
//
// description.go, folderspec.go and keyspec.go have what a file can say, load.go
// reads it, propose*.go propose one. Routines: expire.go and watchdog.go work on
// rows, clean.go on contents, folder*.go and keys.go on the other kinds,
// quarantine*.go, uploads.go and restore.go on objects that are moved instead of
// deleted; troubles.go reviews what stays wrong; pairing.go decides whether bucket and
// database belong together. aged.go, bucket.go and owned.go are restrictions around a
// bucket's deletes. check.go and sample*.go compare a description with the bucket.
package adopt
