package ledger

import (
	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/receipt"
)

// BucketTotal is the counters of a bucket.
type BucketTotal struct {
	ID             lethe.ID
	Name           string // empty if the bucket was deleted
	Objects, Bytes int64  // of its rows in objects
	Holds          int64  // set in the bucket
}

// ContentBody is the bytes of an inline content.
type ContentBody struct {
	Content lethe.ID
	Body
}

// Snapshot is every row of the ledger's protocol at one instant, for checkers and support.
// It is as large as the ledger.
type Snapshot struct {
	Objects  []Object // Bucket is empty if the bucket was deleted
	Trash    []TrashEntry
	Contents []Content
	Bodies   []ContentBody
	Blobs    []Blob
	Uploads  []Upload
	Parts    []Part
	Totals   []Total
	Buckets  []BucketTotal
	Limits   []LimitState // counts of the limits, and clocks in doubt; Name is empty
	// Receipts are the receipts of what is gone, in that order.
	Receipts []receipt.Receipt
}
