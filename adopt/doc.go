// Package adopt reclaims in tables, buckets and caches that belong to other
// programs. A file describes them (Description); nothing of the application
// changes, and nothing of it has to know of Lethe.
//
// A collection of records is rows that expire, the contents that they refer to,
// and copies in a cache. Rows go from live to claimed to gone: claimed and stamped
// in one transaction, their copies dropped from the cache, then settled in another
// (Expire). Contents that no row refers to go from waiting to condemned to gone:
// marked in one transaction, their objects deleted, then confirmed in another
// (Clean). No lock is held across a call to bucket or cache.
//
// The names of objects are the application's, and it may use them again. The mark
// of a condemned content keeps new references away until its object is gone and no
// delete can be under way any more; a guard in the application's database enforces
// it (docs/adopting.md). Without a guard objects are counted, and stay.
//
// The database (Records, Contents, Cached) is sqladopt; buckets are blob.Store;
// reclaim's loop drives the routines.
package adopt
