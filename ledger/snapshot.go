package ledger

import (
	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/receipt"
)

// BucketTotal is what the counters of a bucket say.
type BucketTotal struct {
	ID             lethe.ID
	Name           string // empty if the bucket was deleted
	Objects, Bytes int64  // of its rows in objects
	Holds          int64  // that are set in it
}

// Snapshot is every row of the ledger's protocol at one instant, for checkers
// and for support. It is as large as the ledger.
type Snapshot struct {
	Objects  []Object // Bucket is empty if the bucket was deleted
	Trash    []TrashEntry
	Contents []Content
	Blobs    []Blob
	Uploads  []Upload
	Parts    []Part
	Totals   []Total
	Buckets  []BucketTotal
	Guards   []Guard // what limits have counted, and clocks in doubt; Name is not told
	// Receipts are those of what is gone, in the order in which it went.
	Receipts []receipt.Receipt
}
