package api

// BlobObjectsRequest names a blob.
type BlobObjectsRequest struct {
	// Blob is its id, or its name on its backend, as in findings.
	Blob string `json:"blob"`
	// AfterID and AfterTrash are those of the last entry of the previous page.
	AfterID    string `json:"after_id,omitempty"`
	AfterTrash bool   `json:"after_trash,omitempty"`
	Limit      int    `json:"limit,omitempty"` // 1 to 1000; 0: 1000
}

// BlobObjects is a page of what needs a blob.
type BlobObjects struct {
	Blob BlobInfo `json:"blob"`
	// Refs is how many objects and trash entries refer to its content, 0 for the part
	// of an upload.
	Refs    int64    `json:"refs"`
	Objects []Sharer `json:"objects"`
	More    bool     `json:"more,omitempty"`
}
