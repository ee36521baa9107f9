// Package object stores and serves objects: put, get, head, copy, list, delete,
// multipart uploads, trash. It joins the ledger and the backends by the protocol of
// docs/protocol.md (intent before bytes, one commit, exact outcomes) and knows
// nothing of HTTP. It meets the reclamation engine only in the ledger's rows.
//
// A write: put.go and copy.go begin, intake.go reads the client's body, upload.go sends it,
// heartbeat.go keeps its intent alive, settle.go looks up what became of it, and room.go
// evicts for it. A read: get.go opens, body.go sends, blockcheck.go verifies, readnotes.go
// notes it for idle times and eviction. multipart.go and parts.go are uploads in parts.
package object
