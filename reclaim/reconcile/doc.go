// Package reconcile compares what lies on a backend with what the ledger says lies
// there: the one routine that starts from reality.
//
// Both sides are read in byte order and merged, a chunk of the ledger at a time,
// so that memory is bounded by the chunk however many keys there are. A chunk is
// a range of blob ids: the ledger is read once, in the order in which it lies, and
// needs no index by backend and name, which every write and every deletion would
// have to keep. Within a chunk each fan-out folder is listed from the first to the
// last id of the chunk, several folders side by side.
//
// What only the listing has is looked up after it (a row is written before its
// byte); what only the ledger has is asked for by name, and its row read once
// more. A listing that failed, ended early or was out of order proves nothing
// (docs/protocol.md, rule 12). What is found is written down, and stays an observation until
// the whole backend was compared:
//
//   - An orphan, a name of this store without a row, is condemned once it is old
//     enough, was seen by two different walks, and a last look in the transaction
//     that gives it a row finds nothing against it; deleted as all others are.
//   - A blob whose bytes are missing or of another size becomes suspect, so that
//     placement heals it from a replica; if there is none it is reported as lost,
//     with the objects concerned.
//   - Foreign keys are reported, and never touched (rule 15).
//
// While the pact with the backend is in doubt (rule 13) a walk only reports.
package reconcile
