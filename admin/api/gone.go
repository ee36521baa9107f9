package api

import "github.com/lethe-storage/lethe/receipt"

// Gone is a deleted version of an object, by its receipt, and what became of
// its bytes.
type Gone struct {
	Receipt receipt.Receipt `json:"receipt"`
	// Why describes why it was deleted, and at whose request or by which run.
	Why string `json:"why"`
	// Fate describes in a sentence what became of the bytes.
	Fate string `json:"fate"`
	// Confirmed are the blobs without a row, with the time and kind of their
	// deletion.
	Confirmed []receipt.Receipt `json:"confirmed,omitempty"`
	// Left are those that still have a row.
	Left []BlobInfo `json:"left,omitempty"`
}
