package ledger

import "github.com/lethe-storage/lethe"

// DeadQuery selects dead letters that match every field set, oldest first.
type DeadQuery struct {
	Backend string
	Reason  lethe.Reason
	Bucket  string     // name of the bucket of the last reference
	DiedBy  lethe.Time // died at this instant or before; 0: any
	MinSize int64      // bytes
	Error   string     // substring of the last error, case-sensitive
	After   lethe.ID
	Limit   int
}

// DeadLetter is a blob that has no attempts to delete it left.
type DeadLetter struct {
	Blob
	BucketID lethe.ID // of the last reference; empty: not known
	Bucket   string   // its name; empty: not known, or deleted
}
