// Package object stores and serves objects: put, get, head, copy, list, delete,
// multipart uploads, trash. It puts the ledger and the backends together by the
// protocol of package lethe (intent before bytes, one commit, exact outcomes)
// and knows nothing of HTTP. It meets the reclamation engine only in the
// ledger's rows.
package object
