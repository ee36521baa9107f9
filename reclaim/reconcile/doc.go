// Package reconcile compares what lies on a backend with the ledger's rows: the one
// routine that starts from the bytes. It never deletes: orphans get a row here, and
// reclaim's clean deletes them. Copies are healed by package placement.
//
// Both sides are read in byte order and merged, a chunk of the ledger at a time, so
// that the chunk bounds memory for any number of keys. A chunk is a range of blob
// ids: the ledger is read once, in its own order, and needs no index by backend and
// name. Every write and every deletion would have to maintain such an index. Within
// a chunk each fan-out folder is listed from the first to the last id of the chunk,
// several folders in parallel.
//
// Names that only the listing has are looked up after it (a row is written before
// its byte). Blobs that only the ledger has are looked up by name, and their rows
// read again. A listing that failed, ended early or was out of order proves nothing
// (docs/protocol.md, rule 12). Findings are recorded, and nothing follows from them
// until the whole backend was compared:
//
//   - An orphan, a name of this store without a row, is condemned once it is old
//     enough, was seen by two different walks, and passes a last check in the
//     transaction that gives it a row. It is then deleted like every other blob.
//   - A blob whose bytes are missing or of another size becomes suspect, so that
//     placement heals it from a replica. If there is none it is reported as lost,
//     with the objects concerned.
//   - Foreign keys are reported, and never touched (rule 15).
//
// While the pairing with the backend is in doubt (rule 13) a walk only reports.
package reconcile
