// Package object stores and serves objects: put, get, head, copy, list, delete,
// multipart uploads, trash. It joins the ledger and the backends by the protocol of
// docs/protocol.md (intent before bytes, one commit, exact outcomes) and knows
// nothing of HTTP. It meets the reclamation engine only in the ledger's rows.
package object
