package api

// CheckRequest asks for a check of the whole store.
type CheckRequest struct {
	// Checksums also reads every live blob and verifies its digest.
	Checksums bool `json:"checksums,omitempty"`
}

// CheckResult counts what a check read. It found nothing wrong if Problems is
// 0.
type CheckResult struct {
	Problems int64            `json:"problems"`
	Kinds    map[string]int64 `json:"kinds,omitempty"` // problems by kind
	Rows     int64            `json:"rows"`            // live blobs compared with their bytes
	Keys     int64            `json:"keys"`            // names on backends compared with rows
	Inline   int64            `json:"inline"`          // contents in the ledger compared with their digests
	Bytes    int64            `json:"bytes"`           // of those rows and contents
}
