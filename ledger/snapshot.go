package ledger

import "github.com/lethe-storage/lethe"

// BucketTotal is what the counters of a bucket say.
type BucketTotal struct {
	ID             lethe.ID
	Name           string // empty if the bucket was deleted
	Objects, Bytes int64  // of its rows in objects
	Holds          int64  // that are set in it
}
